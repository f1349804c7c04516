/** A program of Capstan's own image, as its container sees it, whether it runs in this process or in one of its own. */

/** What a program gets from whoever runs its container. */
export interface ProgramContext {
  readonly args: readonly string[];
  /** The variables of the container, KUBERNETES_SERVICE_HOST and _PORT among them. */
  readonly env: Readonly<Record<string, string>>;
  /** Where a path of the container is on this machine: what is mounted lies elsewhere; other paths are as they are. */
  resolve(path: string): string;
  /** A line of its log. */
  write(line: string): void;
  /** Says that it works; a container with a readiness probe is ready from then on. */
  ready(): void;
  readonly signal: AbortSignal;
}

/** Ends with its exit code. */
export type RunProgram = (context: ProgramContext) => Promise<number>;
