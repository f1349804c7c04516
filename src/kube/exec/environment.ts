/** The part of our environment that credential plugins get to see. */
import type { EnvironmentVariable } from "./config.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export const EXEC_INFO = "KUBERNETES_EXEC_INFO";

/**
 * What programs need to run, to find their own files and to reach the network, and the pointers by which a cloud
 * tells its programs who they are. They name files, folders, addresses and roles; variables that hold keys are not
 * among them.
 */
const PASSED: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "TERM"],
  ...["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"],
  ...["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "NAMESPACE", "POD_NAMESPACE"],
  ...["AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"],
  ...["AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_STS_REGIONAL_ENDPOINTS"],
  ...["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"],
  ...["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST", "AZURE_CONFIG_DIR"],
  ...["GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG"],
]);

const PASSED_PREFIXES = ["LC_"];

export interface EnvironmentParts {
  /** Our own. */
  readonly own: Environment;
  /** Names of further variables of ours to pass; one that ends in `*` stands for all that begin so. */
  readonly alsoPass: readonly string[];
  /** What the configuration of the plugin sets; it wins over ours. */
  readonly configured: readonly EnvironmentVariable[];
  /** The text for KUBERNETES_EXEC_INFO; it wins over everything. */
  readonly info: string;
}

export function pluginEnvironment({ own, alsoPass, configured, info }: EnvironmentParts): Record<string, string> {
  const prefixes = [
    ...PASSED_PREFIXES,
    ...alsoPass.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1)),
  ];
  const names = new Set([...PASSED, ...alsoPass]);
  const passed = Object.entries(own).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (names.has(entry[0]) || prefixes.some((prefix) => entry[0].startsWith(prefix))),
  );
  return {
    ...Object.fromEntries(passed),
    ...Object.fromEntries(configured.map(({ name, value }) => [name, value])),
    [EXEC_INFO]: info,
  };
}
