/**
 * What tests of controllers stand on: a cluster in memory that behaves like an API server where controllers can
 * tell, and the real runtime on a clock that the test holds. Given objects, run until quiet, look at the objects.
 */
export { type FakeCluster, type FakeClusterOptions, fakeCluster, type Seed } from "./fake-cluster.ts";
export type { FakeWrite } from "./fake-server.ts";
export { type QuietOptions, type RunningControllers, runUntilQuiet, startControllers } from "./run-until-quiet.ts";
