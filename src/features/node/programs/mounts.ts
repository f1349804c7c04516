/** Where the paths of a container are on this machine. */
import { posix } from "node:path";

export interface Mount {
  /** In the container. */
  readonly path: string;
  /** On this machine. */
  readonly real: string;
}

/** What is mounted lies elsewhere, and the innermost mount decides; other paths are as they are. */
export function resolvedPath(path: string, mounts: readonly Mount[]): string {
  const plain = posix.normalize(path);
  const [mount] = mounts
    .filter(({ path: at }) => plain === at || plain.startsWith(at === "/" ? at : `${at}/`))
    .sort((one, other) => other.path.length - one.path.length);
  return mount ? posix.join(mount.real, plain.slice(mount.path.length)) : path;
}
