import { expect, it } from "vitest";
import { resolvedPath } from "./mounts.ts";

const MOUNTS = [
  { path: "/etc/x", real: "/root/v1" },
  { path: "/etc/x/inner", real: "/root/v2" },
  { path: "/file.conf", real: "/root/v3/key" },
];

it.each([
  ["/etc/x", "/root/v1"],
  ["/etc/x/a/b", "/root/v1/a/b"],
  ["/etc/x/inner/a", "/root/v2/a"],
  ["/etc/xy", "/etc/xy"],
  ["/file.conf", "/root/v3/key"],
  ["/etc/x/../y", "/etc/x/../y"],
  ["/etc//x/a", "/root/v1/a"],
  ["relative/etc/x", "relative/etc/x"],
])("the path %s of a container is %s", (path, real) => {
  expect(resolvedPath(path, MOUNTS)).toBe(real);
});
