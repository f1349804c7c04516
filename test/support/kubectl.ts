/** kubectl, where there is one: that of the tools that were built, else the one on the PATH. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const BUILT = fileURLToPath(new URL("../../.kube/bin", import.meta.url));

/** Runs words as people type them, and answers what was printed; undefined where there is no kubectl. */
export function kubectlWith(kubeconfig: () => string): ((...words: string[]) => Promise<string>) | undefined {
  const folders = [BUILT, ...(process.env.PATH ?? "").split(delimiter)];
  const path = folders.map((folder) => join(folder, "kubectl")).find((candidate) => existsSync(candidate));
  if (path === undefined) return undefined;
  return (...words) =>
    new Promise((resolve, reject) => {
      execFile(path, [...words, "--kubeconfig", kubeconfig()], (error, stdout, stderr) => {
        if (error) reject(new Error(`kubectl ${words.join(" ")}: ${stderr}`));
        else resolve(stdout);
      });
    });
}
