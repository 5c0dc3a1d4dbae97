import { defineConfig } from "vitest/config";

// Examples import the package by its name; in tests that means its sources, as no build is there.
const conditions = ["tidegate-source", "node"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
