/** What keeps a manifest from being applied although nothing is wrong with it: others who want to have a say. */
import type { OwnerReference } from "#api/meta";
import type { ManifestWork } from "#api/work";
import { identityOf } from "#kube";
import { type Claim, deciderOf, identityIn } from "./claims.ts";
import { chosenConfig, resourceName } from "./config.ts";
import { isWritten, type Piece, wishFor } from "./pieces.ts";
import { AppliedReason } from "./reasons.ts";
import type { Site } from "./sites.ts";

/** Pieces of which an older work decides how they look keep only their owner. */
export function sharedWith(
  work: ManifestWork,
  pieces: readonly Piece[],
  worksFor: (identity: string) => readonly ManifestWork[],
): { readonly pieces: Piece[]; readonly deciders: ReadonlyMap<number, string> } {
  const deciders = new Map<number, string>();
  const decided = pieces.map((piece) => {
    const identity = identityIn(piece.object);
    if (identity === undefined || !isWritten(piece)) return piece;
    const others = worksFor(identity).filter((other) => other.metadata.name !== work.metadata.name);
    const claims = others.flatMap((other) => claimOf(other, piece, identity) ?? []);
    const own = { work, object: piece.object, updateStrategy: piece.config.updateStrategy };
    const decider = deciderOf(own, claims);
    if (!decider) return piece;
    deciders.set(piece.ordinal, decider.metadata.name);
    return { ...piece, isShared: true };
  });
  return { pieces: decided, deciders };
}

function claimOf(work: ManifestWork, { kind, id }: Piece, identity: string): Claim | undefined {
  const object = (work.spec?.workload?.manifests ?? []).find((each) => identityIn(each) === identity);
  if (!object) return undefined;
  const name = kind && id && resourceName(kind, id);
  return { work, object, updateStrategy: chosenConfig(work.spec?.manifestConfigs, name).updateStrategy };
}

/** Pieces that somebody else on the spoke keeps changing are left alone for a while. */
export async function contested(pieces: readonly Piece[], site: Site, owner: OwnerReference): Promise<Piece[]> {
  const pauses = new Map(
    pieces
      .filter(isWritten)
      .map(({ ordinal, id }) => [ordinal, id ? site.contention.pauseFor(identityOf(id)) : 0] as const)
      .filter(([, pause]) => pause > 0),
  );
  if (pauses.size === 0) return [...pieces];
  const drifted = new Set<string>();
  const wishes = pieces.filter(({ ordinal }) => pauses.has(ordinal)).map((piece) => wishFor(piece, owner));
  const stop = await site.engine.followDrift({ wishes }, ({ id }) => drifted.add(identityOf(id)));
  stop();
  return pieces.map((piece) => {
    const retryIn = pauses.get(piece.ordinal);
    if (retryIn === undefined || !piece.id || !drifted.has(identityOf(piece.id))) return piece;
    return { ...piece, hindrance: { reason: AppliedReason.manifestFailed, message: CONTESTED, retryIn } };
  });
}

const CONTESTED =
  "Failed to apply manifest: something else on the cluster keeps changing it; it is applied again every few minutes until that ends, or until the manifest leaves the disputed fields out";
