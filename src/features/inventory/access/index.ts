/**
 * Access to clusters through the inventory: the provider file of this consumer, what a ClusterProfile offers, and
 * the connection that the two give, with credentials from a program or straight from a Secret.
 */
export { type Access, type AccessOptions, accessTo, type CredentialSource } from "./access.ts";
export { createInventoryAccess, type InventoryAccess, type InventoryAccessOptions } from "./inventory-access.ts";
export { type OwnPlugin, type OwnProgram, ownPluginOf } from "./own-plugin.ts";
export { type TokenAccess, tokenAccessProvider } from "./profile-entry.ts";
export {
  type ArgsPolicy,
  type EnvPolicy,
  type OwnProvider,
  ownProvider,
  type Provider,
  type ProviderFile,
  ProviderFileError,
  type ProviderFileOptions,
  parseProviderFile,
  providerFileText,
} from "./provider-file.ts";
export { followProviderFile, type ProviderSource, type ProviderSourceOptions } from "./provider-source.ts";
export { type AccessFailure, AccessReason, accessFailureOf, isAccessFailure } from "./reasons.ts";
export { SecretCredentials, type SecretCredentialsOptions } from "./secret-credentials.ts";
export { writeProviderFile } from "./write-provider-file.ts";
