// Records what a process does to the files below TIDEGATE_DISK_ROOT, in order, into
// TIDEGATE_DISK_TRACE, and fails chosen calls. Preloaded into the process under test.
//   R1. One lock covers a call and its record, so that the trace has the order of the disk.
//   R2. A record is one line, then the bytes that were written, if any: "kind inode a b path\n".
//   R3. TIDEGATE_DISK_FAIL="kind:n" fails the n-th call of that kind with EIO and does not run it.
//       A failed sync is recorded as such: the disk model then forgets what was not yet synced.
//   R4. TIDEGATE_DISK_LIE is the end of paths whose syncs succeed and are not recorded, as if the
//       code had none. "*" stands for files with a name of 32 characters: blobs.
//   R5. TIDEGATE_DISK_EVICT=n evicts, n syncs after a failed one, the pages that it did not write
//       from the page cache. The process then reads what the disk has: the bytes of the last sync,
//       or zeros. Pages that were written again meanwhile stay.
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
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 65536

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX];
static size_t root_length;
static int trace = -1;
static char tracked[DESCRIPTORS_MAX];
static char fail_kind[32];
static long fail_at = -1;
static long fail_count;
static const char *lie;
static long evict_after = -1;

static ssize_t (*real_write)(int, const void *, size_t);

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

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
  const char *fail = getenv("TIDEGATE_DISK_FAIL");
  if (fail != NULL) sscanf(fail, "%31[^:]:%ld", fail_kind, &fail_at);
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

static int fails(const char *kind) {
  if (fail_at < 0 || strcmp(kind, fail_kind) != 0) return 0;
  fail_count += 1;
  if (fail_count != fail_at) return 0;
  errno = EIO;
  return 1;
}

static int open_recorded(int directory, const char *path, int flags, mode_t mode) {
  int inside = is_inside(path);
  if (!inside) return REAL(openat)(directory, path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat before;
  int existed = stat(path, &before) == 0;
  int fd = -1;
  if (!((flags & O_CREAT) && !existed && fails("create")))
    fd = REAL(openat)(directory, path, flags, mode);
  if (fd >= 0 && fd < DESCRIPTORS_MAX) {
    tracked[fd] = 1;
    if (!existed) record('C', inode_of(fd), 0, 0, path, NULL, 0);
    else if (flags & O_TRUNC) record('T', inode_of(fd), 0, 0, path, NULL, 0);
  }
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
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

static ssize_t written(int fd, off_t at, const struct iovec *parts, int count, ssize_t done) {
  size_t remaining = done;
  for (int part = 0; part < count && remaining > 0; part += 1) {
    size_t length = parts[part].iov_len < remaining ? parts[part].iov_len : remaining;
    record('W', inode_of(fd), at, length, "-", parts[part].iov_base, length);
    at += length;
    remaining -= length;
  }
  return done;
}

static off_t position_of(int fd) {
  if (REAL(fcntl)(fd, F_GETFL) & O_APPEND) {
    struct stat info;
    return fstat(fd, &info) == 0 ? info.st_size : 0;
  }
  return lseek(fd, 0, SEEK_CUR);
}

#define RECORDED(fd, kind, at_expression, parts, count, call)      \
  if (!is_tracked(fd)) return call;                                \
  pthread_mutex_lock(&lock);                                       \
  off_t at = at_expression;                                        \
  ssize_t done = fails(kind) ? -1 : call;                          \
  int error = errno;                                               \
  if (done > 0) written(fd, at, parts, count, done);               \
  pthread_mutex_unlock(&lock);                                     \
  errno = error;                                                   \
  return done;

ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  RECORDED(fd, "write", position_of(fd), &part, 1, real_write(fd, bytes, length))
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  struct iovec part = {(void *)bytes, length};
  RECORDED(fd, "write", offset, &part, 1, REAL(pwrite)(fd, bytes, length, offset))
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  struct iovec part = {(void *)bytes, length};
  RECORDED(fd, "write", offset, &part, 1, REAL(pwrite64)(fd, bytes, length, offset))
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  RECORDED(fd, "write", position_of(fd), parts, count, REAL(writev)(fd, parts, count))
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  RECORDED(fd, "write", offset, parts, count, REAL(pwritev)(fd, parts, count, offset))
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  RECORDED(fd, "write", offset, parts, count, REAL(pwritev64)(fd, parts, count, offset))
}

static int truncated(int fd, off_t length, int (*run)(int, off_t)) {
  if (!is_tracked(fd)) return run(fd, length);
  pthread_mutex_lock(&lock);
  int result = fails("truncate") ? -1 : run(fd, length);
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
  size_t length = strlen(path);
  size_t end = strlen(lie);
  return length >= end && strcmp(path + length - end, lie) == 0;
}

#define SYNCED_FILES_MAX 4096

/** The bytes of each file at its last sync (R5). */
static struct {
  unsigned long inode;
  char *bytes;
  size_t length;
} synced_files[SYNCED_FILES_MAX];
static int synced_count;

static int synced_index(unsigned long inode) {
  int at = 0;
  while (at < synced_count && synced_files[at].inode != inode) at += 1;
  if (at == SYNCED_FILES_MAX) abort();
  if (at == synced_count) synced_files[synced_count++].inode = inode;
  return at;
}

#define PAGE_BYTES 4096

/** The file whose sync failed: what the process sees, and what the disk has. */
static struct {
  int fd;
  size_t size;
  char *seen;
  char *on_disk;
} failed_file = {-1, 0, NULL, NULL};

static char *bytes_of(int fd, size_t size) {
  char *bytes = calloc(1, size + 1);
  if (bytes == NULL || pread(fd, bytes, size, 0) != (ssize_t)size) abort();
  return bytes;
}

/** Remembers the bytes of a file at its sync, or what a failed sync did not write (R5). */
static void note_sync(int fd, const char *link, int failed) {
  struct stat info;
  if (evict_after < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  int again = REAL(openat)(AT_FDCWD, link, O_RDWR | O_CLOEXEC);
  if (again < 0) abort();
  size_t size = info.st_size;
  int at = synced_index((unsigned long)info.st_ino);
  if (failed) {
    size_t kept = synced_files[at].length < size ? synced_files[at].length : size;
    failed_file.fd = again;
    failed_file.size = size;
    failed_file.seen = bytes_of(again, size);
    failed_file.on_disk = calloc(1, size + 1);
    if (kept > 0) memcpy(failed_file.on_disk, synced_files[at].bytes, kept);
    return;
  }
  free(synced_files[at].bytes);
  synced_files[at].bytes = bytes_of(again, size);
  synced_files[at].length = size;
  REAL(close)(again);
}

/** Evicts the pages of the failed sync, once enough other syncs have followed (R5). */
static void evict_in_time(void) {
  if (failed_file.fd < 0 || evict_after-- > 0) return;
  for (size_t at = 0; at < failed_file.size; at += PAGE_BYTES) {
    size_t rest = failed_file.size - at;
    size_t length = rest < PAGE_BYTES ? rest : PAGE_BYTES;
    char now[PAGE_BYTES];
    if (pread(failed_file.fd, now, length, at) != (ssize_t)length) break; // The file was truncated.
    if (memcmp(now, failed_file.seen + at, length) != 0) continue;
    if (REAL(pwrite)(failed_file.fd, failed_file.on_disk + at, length, at) < 0) abort();
  }
  REAL(close)(failed_file.fd);
  failed_file.fd = -1;
}

static int synced(int fd, int (*run)(int)) {
  if (!is_tracked(fd)) return run(fd);
  pthread_mutex_lock(&lock);
  int failed = fails("sync");
  int result = failed ? -1 : run(fd);
  int error = errno;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  if (!is_lie(path)) {
    record(result == 0 ? 'S' : 'F', inode_of(fd), 0, 0, path, NULL, 0);
    note_sync(fd, link, result != 0);
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
  int result = fails("rename") ? -1 : REAL(rename)(from, to);
  int error = errno;
  char both[PATH_MAX * 2];
  snprintf(both, sizeof both, "%s\t%s", from, to);
  if (result == 0) record('R', 0, 0, 0, both, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int unlink(const char *path) {
  if (!is_inside(path)) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  int result = REAL(unlink)(path);
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
int mkdir(const char *path, mode_t mode) {
  if (!is_inside(path)) return REAL(mkdir)(path, mode);
  pthread_mutex_lock(&lock);
  int result = REAL(mkdir)(path, mode);
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
