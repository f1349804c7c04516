/** Which ports a cluster may choose from, and who sits on one that is taken. */
import { readdir, readFile, readlink } from "node:fs/promises";

export const DEFAULT_FIRST_PORT = 16443;

/** What Linux uses for outgoing connections unless told otherwise; others choose from higher up. */
const USUAL_RANGE = [32768, 60999] as const;

/** Ports from `first` upwards without those that the system hands out to outgoing connections and those in `kept`. */
export async function candidatePorts(first: number, kept: ReadonlySet<number>): Promise<Iterable<number>> {
  const [low, high] = await outgoingRange();
  return {
    *[Symbol.iterator]() {
      for (let port = first; port <= 65535; port++) if ((port < low || port > high) && !kept.has(port)) yield port;
    },
  };
}

/** A place in the line of those who choose a port. */
export interface PortTurn {
  /** The ports to try, when all who came before have theirs. */
  readonly ports: () => Promise<Iterable<number>>;
  /** Called with the port, or without one by whoever gave up; calling it again does nothing. */
  readonly done: (port?: number) => void;
}

/** Clusters may open side by side, and yet get their ports in the order in which they were named. */
export class PortTurns {
  readonly #first: number;
  readonly #chosen = new Set<number>();
  #previous: Promise<void> = Promise.resolve();

  constructor(first: number) {
    this.#first = first;
  }

  /** Nobody has this port any more. */
  release(port: number): void {
    this.#chosen.delete(port);
  }

  next(first = this.#first): PortTurn {
    const previous = this.#previous;
    let release = () => {};
    this.#previous = new Promise((resolve) => {
      release = resolve;
    });
    return {
      ports: () => previous.then(() => candidatePorts(first, this.#chosen)),
      done: (port) => {
        if (port !== undefined) this.#chosen.add(port);
        release();
      },
    };
  }
}

async function outgoingRange(): Promise<readonly [number, number]> {
  try {
    const [low, high] = (await readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8"))
      .trim()
      .split(/\s+/)
      .map(Number);
    return low && high ? [low, high] : USUAL_RANGE;
  } catch {
    return USUAL_RANGE; // not Linux
  }
}

const LISTENING = "0A";

/** `node (pid 123)`, where the system tells; undefined otherwise. */
export async function holderOfPort(port: number): Promise<string | undefined> {
  const inodes = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const text = await readFile(table, "utf8").catch(() => "");
    for (const line of text.split("\n").slice(1)) {
      const columns = line.trim().split(/\s+/);
      const hexPort = columns[1]?.split(":")[1];
      if (hexPort && Number.parseInt(hexPort, 16) === port && columns[3] === LISTENING && columns[9])
        inodes.add(columns[9]);
    }
  }
  if (inodes.size === 0) return undefined;
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []); // not ours to look into
    for (const descriptor of descriptors) {
      const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode && inodes.has(inode)) return `${await programOf(pid)} (pid ${pid})`;
    }
  }
  return undefined;
}

async function programOf(pid: string): Promise<string> {
  return (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "a program")).trim();
}
