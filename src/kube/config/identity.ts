/** Who the user of a kubeconfig is: a certificate, a token, a file with a token, or a program that gives them. */
import { type Clock, systemClock } from "#lib/clock";
import { type Credential, CredentialHolder, type Credentials } from "../credentials.ts";
import { type ExecCluster, execConfigOf } from "../exec/config.ts";
import type { ExecEngine } from "../exec/engine.ts";
import { ExecError } from "../exec/error.ts";
import { pemOf, type ReadText, readTextFile } from "./load.ts";
import { KubeconfigError, type KubeconfigUser } from "./model.ts";

/** What stays as it is, or the source of what may change. */
export interface Identity extends Credential {
  readonly credentials?: Credentials;
}

export interface IdentityOptions {
  readonly read: ReadText;
  readonly clock: Clock;
  /** Without it users who need a program are refused. */
  readonly exec: ExecEngine | undefined;
  /** What the program is told of the cluster. */
  readonly cluster: ExecCluster;
}

/** `where` is how messages call the user. */
export async function identityOf(user: KubeconfigUser, where: string, options: IdentityOptions): Promise<Identity> {
  const { read, clock } = options;
  refuseUnsupported(user, where);
  const [cert, key] = await Promise.all([
    pemOf(user.cert, `client certificate of ${where}`, read),
    pemOf(user.key, `client key of ${where}`, read),
  ]);
  const certificate = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
  if (user.tokenFile !== undefined) {
    return { credentials: fileToken(user.tokenFile, { read, clock, beside: certificate }) };
  }
  if (user.token !== undefined) return { ...certificate, token: user.token };
  // Who can already say who they are is not sent to a program for it.
  if (user.exec && !user.cert) return { credentials: execCredentials(user.exec, where, options) };
  return certificate;
}

function refuseUnsupported({ unsupported = [], cert, key }: KubeconfigUser, where: string): void {
  if (unsupported.length > 0) {
    const fields = unsupported.join(", ");
    throw new KubeconfigError(`${where} uses ${fields}, not supported: use a client certificate or a token`);
  }
  if (cert && !key) throw new KubeconfigError(`${where} has a client certificate but no client key`);
  if (key && !cert) throw new KubeconfigError(`${where} has a client key but no client certificate`);
}

function execCredentials(
  section: Record<string, unknown>,
  where: string,
  { exec, cluster }: IdentityOptions,
): Credentials {
  if (!exec) {
    const command = typeof section.command === "string" ? ` (${section.command})` : "";
    throw new KubeconfigError(
      `${where} gets its credentials from a program${command}, and programs are not run here: use a client certificate or a token`,
    );
  }
  try {
    return exec.credentials(execConfigOf(section, where), cluster);
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    throw new KubeconfigError(error.message, { cause: error });
  }
}

/** Projected tokens are replaced long before they end, so a minute's delay does no harm. */
const TOKEN_KEPT = 60_000;

/** The token in a file, read again after a minute and when the server refuses it. */
export function fileToken(
  file: string,
  {
    read = readTextFile,
    clock = systemClock,
    beside = {},
  }: { read?: ReadText; clock?: Clock /** What is shown with the token. */; beside?: Credential } = {},
): Credentials {
  const holder = new CredentialHolder();
  let until = Number.NEGATIVE_INFINITY;
  const readFresh = async () => {
    const token = (await read(file)).trim();
    if (token === "") throw new Error(`token file ${file} is empty`);
    const credential = { ...beside, token };
    until = clock.now().getTime() + TOKEN_KEPT;
    holder.set(credential);
    return credential;
  };
  return {
    current: async () => (clock.now().getTime() < until && holder.credential) || readFresh(),
    refresh: readFresh,
    onChange: (listener) => holder.onChange(listener),
  };
}
