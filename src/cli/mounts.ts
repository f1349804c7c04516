/** Where the files of a container are on this machine, for a program that a node runs as a process of its own. */

/** The path in the container, and the real one. */
type Mount = readonly [path: string, real: string];

const mounts: Mount[] = [];

const OPTION = "--mount=";

/**
 * Takes the mounts off the front of the arguments. A process that is given any is run by a node: many of them share
 * one machine, and none may have a port of everybody's, so what it shows it shows on a port of the system's choice.
 */
export function withoutMounts(args: readonly string[]): string[] {
  const own = args.findIndex((word) => !word.startsWith(OPTION));
  const [given, rest] = own < 0 ? [args, []] : [args.slice(0, own), args.slice(own)];
  for (const word of given) {
    const [path = "", real = ""] = word.slice(OPTION.length).split("=");
    mounts.push([path, real]);
  }
  return given.length > 0 ? withPortOfItsOwn(rest) : [...rest];
}

/** The innermost mount decides. */
export function realPath(path: string): string {
  const [mount] = mounts
    .filter(([at]) => path === at || path.startsWith(`${at}/`))
    .sort(([one], [other]) => other.length - one.length);
  return mount ? `${mount[1]}${path.slice(mount[0].length)}` : path;
}

export function withPortOfItsOwn(args: readonly string[]): string[] {
  return args.map((word) => word.replace(/^(--[a-z]+-address)=:\d+$/, "$1=127.0.0.1:0"));
}
