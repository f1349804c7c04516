import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const shared = {
  pool: "threads" as const,
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/**
 * Where everything must be there, as before a change lands, a test that failed is tried once more and named in the
 * report: a machine that was too busy for one moment is no reason to refuse a change, but one to mend that test.
 */
const retry = process.env.CAPSTAN_REQUIRE ? 1 : 0;

/** `unit` is `npm test`; `kube` needs real Kubernetes programs, `interop` those of other projects; `architecture` is part of `npm run check`. */
export default defineConfig({
  resolve: { conditions: ["@capstan/source", "node"] },
  ssr: { resolve: { conditions: ["@capstan/source", "node"] } },
  test: {
    // Many tests wait for programs more than they work, so that a small machine carries more of them than it has cores.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: { ...shared, name: "unit", include: ["src/**/*.test.ts", "test/e2e/**/*.test.ts"], retry },
      },
      {
        extends: true,
        // Strangers have moments of their own, such as a read from an old cache; the report tells what was tried twice.
        test: { ...shared, name: "kube", include: ["test/kube/**/*.test.ts"], fileParallelism: false, retry: 1 },
      },
      { extends: true, test: { ...shared, name: "interop", include: ["test/interop/**/*.test.ts"] } },
      { extends: true, test: { ...shared, name: "crash", include: ["test/crash/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          ...shared,
          name: "rotation",
          include: ["test/rotation/**/*.test.ts"],
          disableConsoleIntercept: true,
        },
      },
      {
        extends: true,
        test: { ...shared, name: "bench", include: ["bench/**/*.bench.ts"], disableConsoleIntercept: true },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "architecture",
          include: ["test/architecture.test.ts", "test/chart.test.ts", "test/docs.test.ts"],
        },
      },
    ],
  },
});
