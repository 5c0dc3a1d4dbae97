// Records what a process does to the files below TIDEGATE_DISK_ROOT, in order, into
// TIDEGATE_DISK_TRACE, and fails chosen calls. Preloaded into the process under test.
//   R1. One lock covers a call and its record, so that the trace has the order of the disk.
//   R2. A record is one line, then the bytes that were written, if any: "kind inode a b path\n".
//   R3. TIDEGATE_DISK_FAIL is a list of "kind@end:n:count:errno", divided by commas: from the n-th
//       call of that kind on, `count` calls (1) fail with EIO (or ENOSPC) and do not run. With
//       "@end", only calls on paths with that end count. A failed write leaves its first half
//       behind. The kind "room" stands for all calls that need space: those that create, and
//       writes beyond the end of a file.
//   R4. TIDEGATE_DISK_LIE is the end of paths whose syncs succeed and are not recorded, as if the
//       code had none. "*" stands for files with a name of 32 characters: blobs.
//   R5. TIDEGATE_DISK_EVICT=n evicts, n syncs after a failed one, the pages that it did not write
//       from the page cache. The process then reads what the disk has: the bytes before the failed
//       sync, or zeros, also if it has written and synced the page again (M2 of disk-model.ts).
//       Pages that wait for a sync stay.
//   R6. The file "promises" never fails: it is the test's, not the store's.
//   R7. No sync reaches the real disk, which would only cost time: the disk model is the disk.
//   R8. The disk has 2.6 MB, all of them free. A failing "statfs" has 256 KB: enough for a copy of
//       a log, and not for one of a larger data file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 65536

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX];
static size_t root_length;
static int trace = -1;
/** 0: not below the root; 1: recorded; 2: recorded, and never failed (R6). */
static char tracked[DESCRIPTORS_MAX];
static const char *lie;
static long evict_after = -1;

static ssize_t (*real_write)(int, const void *, size_t);

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

#define FAILURES_MAX 256

/** The calls that fail (R3). */
static struct {
  char kind[64];
  const char *end;
  long from;
  long count;
  int error;
  long calls;
} failures[FAILURES_MAX];
static int failure_count;

static void read_failures(const char *list) {
  while (list != NULL && *list != 0) {
    if (failure_count == FAILURES_MAX) abort();
    char name[16] = "EIO";
    typeof(&failures[0]) next = &failures[failure_count];
    next->count = 1;
    if (sscanf(list, "%63[^:]:%ld:%ld:%15[A-Z]", next->kind, &next->from, &next->count, name) < 2)
      abort();
    char *end = strchr(next->kind, '@');
    if (end != NULL) *end = 0;
    next->end = end == NULL ? "" : end + 1;
    next->error = strcmp(name, "ENOSPC") == 0 ? ENOSPC : EIO;
    failure_count += 1;
    list = strchr(list, ',');
    if (list != NULL) list += 1;
  }
}

static int has_end(const char *path, const char *end) {
  size_t length = strlen(path);
  size_t wanted = strlen(end);
  return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

static void path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *given = getenv("TIDEGATE_DISK_ROOT");
  const char *path = getenv("TIDEGATE_DISK_TRACE");
  real_write = REAL(write);
  if (given == NULL || path == NULL) return;
  snprintf(root, sizeof root, "%s", given);
  root_length = strlen(root);
  trace = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  lie = getenv("TIDEGATE_DISK_LIE");
  const char *evict = getenv("TIDEGATE_DISK_EVICT");
  if (evict != NULL) evict_after = atol(evict);
  read_failures(getenv("TIDEGATE_DISK_FAIL"));
}

static int is_inside(const char *path) {
  return trace >= 0 && strncmp(path, root, root_length) == 0 &&
         (path[root_length] == '/' || path[root_length] == 0);
}

static int is_tracked(int fd) { return fd >= 0 && fd < DESCRIPTORS_MAX && tracked[fd]; }

static unsigned long inode_of(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? (unsigned long)info.st_ino : 0;
}

static void record(char kind, unsigned long inode, long a, long b, const char *path,
                   const void *bytes, size_t length) {
  char line[PATH_MAX * 2 + 128];
  int size = snprintf(line, sizeof line, "%c %lu %ld %ld %s\n", kind, inode, a, b, path);
  real_write(trace, line, size);
  for (size_t at = 0; at < length;) {
    ssize_t done = real_write(trace, (const char *)bytes + at, length - at);
    if (done <= 0) abort();
    at += done;
  }
}

/** Counts a call; whether it fails, with errno set (R3). */
static int fails(const char *kind, const char *path) {
  int error = 0;
  for (int at = 0; at < failure_count; at += 1) {
    if (strcmp(failures[at].kind, kind) != 0 || !has_end(path, failures[at].end)) continue;
    long after = ++failures[at].calls - failures[at].from;
    if (after >= 0 && after < failures[at].count) error = failures[at].error;
  }
  if (error != 0) errno = error;
  return error != 0;
}

/** As `fails`, for a call that needs space if `needs_room`. */
static int fails_or_full(const char *kind, const char *path, int needs_room) {
  return fails(kind, path) || (needs_room && fails("room", path));
}

static int is_own(const char *path) {
  const char *name = strrchr(path, '/');
  return name != NULL && strcmp(name, "/promises") == 0;
}

static void forget_file(unsigned long inode);

static int open_recorded(int directory, const char *path, int flags, mode_t mode) {
  int inside = is_inside(path);
  if (!inside) return REAL(openat)(directory, path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat before;
  int existed = stat(path, &before) == 0;
  int fd = -1;
  int creates = (flags & O_CREAT) && !existed && !is_own(path);
  if (!(creates && fails_or_full("create", path, 1)))
    fd = REAL(openat)(directory, path, flags, mode);
  if (fd >= DESCRIPTORS_MAX) abort();
  if (fd >= 0) {
    tracked[fd] = is_own(path) ? 2 : 1;
    if (!existed) forget_file(inode_of(fd));
    if (!existed) record('C', inode_of(fd), 0, 0, path, NULL, 0);
    else if (flags & O_TRUNC) record('T', inode_of(fd), 0, 0, path, NULL, 0);
  }
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define BLOCK_BYTES 4096
#define DISK_BYTES (2624 << 10)
#define FEW_BYTES (256 << 10)

int statfs64(const char *path, struct statfs64 *info) {
  int result = REAL(statfs64)(path, info);
  if (result != 0 || !is_inside(path)) return result;
  pthread_mutex_lock(&lock);
  int few = fails("statfs", path);
  pthread_mutex_unlock(&lock);
  info->f_bsize = BLOCK_BYTES;
  info->f_blocks = DISK_BYTES / BLOCK_BYTES;
  info->f_bfree = info->f_bavail = (few ? FEW_BYTES : DISK_BYTES) / BLOCK_BYTES; // R8
  return 0;
}

#define OPEN(name)                                   \
  int name(const char *path, int flags, ...) {       \
    va_list more;                                    \
    va_start(more, flags);                           \
    mode_t mode = va_arg(more, mode_t);              \
    va_end(more);                                    \
    return open_recorded(AT_FDCWD, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  if (is_tracked(fd)) tracked[fd] = 0;
  return REAL(close)(fd);
}

static void written(int fd, off_t at, const struct iovec *parts, int count, ssize_t done) {
  size_t remaining = done;
  for (int part = 0; part < count && remaining > 0; part += 1) {
    size_t length = parts[part].iov_len < remaining ? parts[part].iov_len : remaining;
    record('W', inode_of(fd), at, length, "-", parts[part].iov_base, length);
    at += length;
    remaining -= length;
  }
}

static off_t position_of(int fd) {
  if (REAL(fcntl)(fd, F_GETFL) & O_APPEND) {
    struct stat info;
    return fstat(fd, &info) == 0 ? info.st_size : 0;
  }
  return lseek(fd, 0, SEEK_CUR);
}

static int write_fails(int fd, off_t at, const struct iovec *parts, int count) {
  if (tracked[fd] == 2) return 0; // R6
  size_t length = 0;
  for (int part = 0; part < count; part += 1) length += parts[part].iov_len;
  struct stat info;
  int grows = fstat(fd, &info) == 0 && at + (off_t)length > info.st_size;
  char path[PATH_MAX];
  path_of(fd, path);
  if (!fails_or_full("write", path, grows)) return 0;
  int error = errno;
  struct iovec half = {parts[0].iov_base, parts[0].iov_len / 2};
  ssize_t done = half.iov_len == 0 ? 0 : REAL(pwrite)(fd, half.iov_base, half.iov_len, at);
  if (done > 0) written(fd, at, &half, 1, done);
  errno = error;
  return 1;
}

#define RECORDED(fd, at_expression, parts, count, call)            \
  if (!is_tracked(fd)) return call;                                \
  pthread_mutex_lock(&lock);                                       \
  off_t at = at_expression;                                        \
  ssize_t done = write_fails(fd, at, parts, count) ? -1 : call;    \
  int error = errno;                                               \
  if (done > 0) written(fd, at, parts, count, done);               \
  pthread_mutex_unlock(&lock);                                     \
  errno = error;                                                   \
  return done;

ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  RECORDED(fd, position_of(fd), &part, 1, real_write(fd, bytes, length))
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  struct iovec part = {(void *)bytes, length};
  RECORDED(fd, offset, &part, 1, REAL(pwrite)(fd, bytes, length, offset))
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  struct iovec part = {(void *)bytes, length};
  RECORDED(fd, offset, &part, 1, REAL(pwrite64)(fd, bytes, length, offset))
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  RECORDED(fd, position_of(fd), parts, count, REAL(writev)(fd, parts, count))
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  RECORDED(fd, offset, parts, count, REAL(pwritev)(fd, parts, count, offset))
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  RECORDED(fd, offset, parts, count, REAL(pwritev64)(fd, parts, count, offset))
}

/** A copy inside the kernel has no bytes to record, so the caller has to read and write. */
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length,
                        unsigned flags) {
  if (!is_tracked(to)) return REAL(copy_file_range)(from, from_at, to, to_at, length, flags);
  errno = ENOSYS;
  return -1;
}
#define SENDFILE(name, offset_type)                                        \
  ssize_t name(int to, int from, offset_type *offset, size_t length) {     \
    if (!is_tracked(to)) return REAL(name)(to, from, offset, length);      \
    errno = EINVAL;                                                        \
    return -1;                                                             \
  }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

/** Node calls copy_file_range by its number. */
long syscall(long number, ...) {
  va_list more;
  long args[6];
  va_start(more, number);
  for (int at = 0; at < 6; at += 1) args[at] = va_arg(more, long);
  va_end(more);
  if (number == SYS_copy_file_range && is_tracked((int)args[2])) {
    errno = ENOSYS;
    return -1;
  }
  return REAL(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

static int truncated(int fd, off_t length, int (*run)(int, off_t)) {
  if (!is_tracked(fd)) return run(fd, length);
  pthread_mutex_lock(&lock);
  char path[PATH_MAX];
  path_of(fd, path);
  int result = tracked[fd] != 2 && fails("truncate", path) ? -1 : run(fd, length);
  int error = errno;
  if (result == 0) record('T', inode_of(fd), length, 0, "-", NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int ftruncate(int fd, off_t length) { return truncated(fd, length, REAL(ftruncate)); }
int ftruncate64(int fd, off64_t length) { return truncated(fd, length, REAL(ftruncate64)); }

static int is_lie(const char *path) {
  if (lie == NULL) return 0;
  const char *name = strrchr(path, '/');
  if (strcmp(lie, "*") == 0) return name != NULL && strlen(name + 1) == 32;
  return has_end(path, lie);
}

#define PAGE_BYTES 4096
#define SYNCED_FILES_MAX 8192

/** What was synced, and what was not (R5). */
typedef struct {
  unsigned long inode;
  /** The bytes after the last sync, failed or not: pages that differ from them are dirty. */
  char *clean;
  size_t length;
  /** What the disk has of doubtful pages, and which ones these are. */
  char *on_disk;
  char *doubtful;
  size_t pages;
  /** Open while an eviction waits. */
  int fd;
  long evict_in;
} synced_file;

static synced_file synced_files[SYNCED_FILES_MAX];
static int synced_count;

static synced_file *synced_file_of(unsigned long inode) {
  int at = 0;
  while (at < synced_count && synced_files[at].inode != inode) at += 1;
  if (at == SYNCED_FILES_MAX) abort();
  if (at == synced_count) {
    synced_files[synced_count].fd = -1;
    synced_files[synced_count++].inode = inode;
  }
  return &synced_files[at];
}

/** An inode number may be used again. */
static void forget_file(unsigned long inode) {
  if (evict_after < 0) return;
  synced_file *file = synced_file_of(inode);
  free(file->clean);
  free(file->on_disk);
  free(file->doubtful);
  memset(file, 0, sizeof *file);
  file->inode = inode;
  file->fd = -1;
}

static char *bytes_of(int fd, size_t size) {
  char *bytes = calloc(1, size + PAGE_BYTES);
  if (bytes == NULL || pread(fd, bytes, size, 0) != (ssize_t)size) abort();
  return bytes;
}

static void mark_doubtful(synced_file *file, const char *now, size_t size) {
  size_t pages = (size + PAGE_BYTES - 1) / PAGE_BYTES;
  if (pages > file->pages) {
    file->on_disk = realloc(file->on_disk, pages * PAGE_BYTES);
    file->doubtful = realloc(file->doubtful, pages);
    memset(file->doubtful + file->pages, 0, pages - file->pages);
    file->pages = pages;
  }
  for (size_t page = 0; page < pages; page += 1) {
    size_t at = page * PAGE_BYTES;
    size_t rest = file->length > at ? file->length - at : 0;
    char before[PAGE_BYTES] = {0};
    if (rest > 0) memcpy(before, file->clean + at, rest < PAGE_BYTES ? rest : PAGE_BYTES);
    size_t length = size - at < PAGE_BYTES ? size - at : PAGE_BYTES;
    if (file->doubtful[page] || memcmp(before, now + at, length) == 0) continue;
    memcpy(file->on_disk + at, before, PAGE_BYTES);
    file->doubtful[page] = 1;
  }
}

/** Remembers the bytes of a file at its sync, and what a failed sync did not write (R5). */
static void note_sync(int fd, int failed) {
  struct stat info;
  if (evict_after < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  int again = REAL(openat)(AT_FDCWD, link, O_RDWR | O_CLOEXEC);
  if (again < 0) abort();
  size_t size = info.st_size;
  synced_file *file = synced_file_of((unsigned long)info.st_ino);
  char *now = bytes_of(again, size);
  if (failed) mark_doubtful(file, now, size);
  free(file->clean);
  file->clean = now;
  file->length = size;
  if (failed && file->fd < 0) {
    file->fd = again;
    file->evict_in = evict_after;
  } else REAL(close)(again);
}

static void evict(synced_file *file) {
  struct stat info;
  if (fstat(file->fd, &info) != 0) abort();
  for (size_t page = 0; page < file->pages; page += 1) {
    off_t at = page * PAGE_BYTES;
    if (!file->doubtful[page] || at >= info.st_size || at >= (off_t)file->length) continue;
    size_t length = info.st_size - at < PAGE_BYTES ? info.st_size - at : PAGE_BYTES;
    char now[PAGE_BYTES];
    if (pread(file->fd, now, length, at) != (ssize_t)length) abort();
    if (at + length > file->length || memcmp(now, file->clean + at, length) != 0) continue;
    char *on_disk = file->on_disk + at;
    if (REAL(pwrite)(file->fd, on_disk, length, at) != (ssize_t)length) abort();
    memcpy(file->clean + at, on_disk, length);
    record('E', file->inode, at, length, "-", on_disk, length);
  }
}

/** Evicts the pages of failed syncs, once enough other syncs have followed (R5). */
static void evict_in_time(void) {
  for (int at = 0; at < synced_count; at += 1) {
    synced_file *file = &synced_files[at];
    if (file->fd < 0 || file->evict_in-- > 0) continue;
    evict(file);
    REAL(close)(file->fd);
    file->fd = -1;
  }
}

static int synced(int fd, int (*run)(int)) {
  if (!is_tracked(fd)) return run(fd);
  pthread_mutex_lock(&lock);
  char path[PATH_MAX];
  path_of(fd, path);
  int failed = tracked[fd] != 2 && fails("sync", path);
  int result = failed ? -1 : 0; // R7
  int error = errno;
  if (!is_lie(path)) {
    record(result == 0 ? 'S' : 'F', inode_of(fd), 0, 0, path, NULL, 0);
    note_sync(fd, result != 0);
    evict_in_time();
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

int rename(const char *from, const char *to) {
  if (!is_inside(from) && !is_inside(to)) return REAL(rename)(from, to);
  pthread_mutex_lock(&lock);
  int result = fails("rename", to) ? -1 : REAL(rename)(from, to);
  int error = errno;
  char both[PATH_MAX * 2];
  snprintf(both, sizeof both, "%s\t%s", from, to);
  if (result == 0) record('R', 0, 0, 0, both, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
/** A link creates a name. */
int link(const char *from, const char *to) {
  if (!is_inside(from) && !is_inside(to)) return REAL(link)(from, to);
  pthread_mutex_lock(&lock);
  int result = fails_or_full("create", to, 1) ? -1 : REAL(link)(from, to);
  int error = errno;
  char both[PATH_MAX * 2];
  snprintf(both, sizeof both, "%s\t%s", from, to);
  if (result == 0) record('L', 0, 0, 0, both, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
  if (from_directory == AT_FDCWD && to_directory == AT_FDCWD && flags == 0) return link(from, to);
  return REAL(linkat)(from_directory, from, to_directory, to, flags);
}
int unlink(const char *path) {
  if (!is_inside(path)) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  int result = fails("unlink", path) ? -1 : REAL(unlink)(path);
  int error = errno;
  if (result == 0) record('U', 0, 0, 0, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int rmdir(const char *path) {
  if (!is_inside(path)) return REAL(rmdir)(path);
  pthread_mutex_lock(&lock);
  int result = REAL(rmdir)(path);
  int error = errno;
  if (result == 0) record('U', 0, 0, 0, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int unlinkat(int directory, const char *path, int flags) {
  char link[64];
  char whole[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t length = directory == AT_FDCWD ? 0 : readlink(link, whole, sizeof whole / 2);
  if (length < 0 || path[0] == '/') length = 0;
  snprintf(whole + length, sizeof whole - length, length > 0 ? "/%s" : "%s", path);
  if (!is_inside(whole)) return REAL(unlinkat)(directory, path, flags);
  return flags & AT_REMOVEDIR ? rmdir(whole) : unlink(whole);
}
int remove(const char *path) {
  struct stat info;
  int is_folder = lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
  return is_folder ? rmdir(path) : unlink(path);
}
int mkdir(const char *path, mode_t mode) {
  if (!is_inside(path)) return REAL(mkdir)(path, mode);
  pthread_mutex_lock(&lock);
  int result = fails_or_full("mkdir", path, 1) ? -1 : REAL(mkdir)(path, mode);
  int error = errno;
  if (result == 0) {
    struct stat info;
    stat(path, &info);
    record('M', (unsigned long)info.st_ino, 0, 0, path, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
