/**
 * The inventory for those who use it: access to the clusters that ClusterProfiles stand for, one by one or as a
 * fleet. What keeps the profiles themselves is in `hub`.
 */
export * from "./access/index.ts";
export { clusterProfilesProvider, type ProfilesProviderOptions } from "./fleet-provider.ts";
export { type InventoryProviderOptions, inventoryProvider } from "./inventory-provider.ts";
