/** The store cannot be opened, read or written; the message names the file and the cause. */
export class StoreError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
  }
}

/** Another process works in the directory. */
export class DirectoryInUse extends StoreError {
  readonly pid: number;

  constructor(path: string, pid: number) {
    super(`${path} is in use by process ${pid}: stop that process, or use another directory`);
    this.name = "DirectoryInUse";
    this.pid = pid;
  }
}

/** What lies on disk is not what was written there. Nothing was changed. */
export class StoreDamaged extends StoreError {
  readonly file: string;
  readonly offset: number;

  constructor(file: string, offset: number, what: string) {
    super(`${file} is damaged at byte ${offset}: ${what}; nothing was changed, restore the directory from a copy`);
    this.name = "StoreDamaged";
    this.file = file;
    this.offset = offset;
  }
}

/** What an unknown thrown thing says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether a file operation failed for this reason: `ENOENT`, `EEXIST`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
