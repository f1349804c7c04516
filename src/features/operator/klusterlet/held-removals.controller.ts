/**
 * Tells on a Klusterlet what its work agent does not remove before a person has confirmed it, because it is not sure of
 * its hub: whoever looks after the cluster looks there first.
 *
 * Key     Klusterlet name
 * Reads   Klusterlet; AppliedManifestWorks with the label of what is held, and whether there is that kind (managed cluster)
 * Writes  Klusterlet status: WorkRemovalHeld, once something was held
 * Twin    none: upstream's agent removes what its hub lacks
 */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Klusterlet, KlusterletCondition, KlusterletReason } from "#api/operator";
import {
  AppliedAnnotation,
  AppliedLabel,
  AppliedManifestWork,
  appliedManifestWorkCrd,
  REMOVAL_CONFIRMED,
} from "#api/work";
import type { Clock } from "#lib/clock";
import { type ConditionClaim, findCondition, setCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done, type Fleet, predicates, splitClusterKey, type Trigger } from "#runtime";
import { klusterletOf, managedClusterName } from "./managed-clusters.ts";
import { isHosted } from "./wish.ts";

export interface HeldRemovalsOptions {
  readonly cluster: Cluster;
  /** The managed clusters of hosted Klusterlets. */
  readonly managed: Pick<Fleet, "keyedBy" | "cache">;
  readonly clock: Clock;
}

export function heldRemovalsController({ cluster, managed, clock }: HeldRemovalsOptions): Controller {
  const klusterlets = cluster.cache(Klusterlet);
  const definitions = cluster.cache(CustomResourceDefinition, { projection: "metadata" });
  const scope = { labelSelector: AppliedLabel.held };
  const here = cluster.cache(AppliedManifestWork, scope);
  const there = managed.cache(AppliedManifestWork, scope);
  const byAgent = klusterlets.indexBy(({ metadata }) => metadata.uid);
  const onManaged = there.keyedBy(({ metadata }) => metadata.name);

  /** The kind comes with the first Klusterlet; before, there is nothing to follow. */
  const heldHere: Trigger<string> = {
    subscribe(enqueue) {
      let life: AbortController | undefined;
      const begin = () => {
        life = new AbortController();
        here.start(life.signal);
        // What was said before may be over by now.
        void here.whenSynced().then(() => {
          for (const { metadata } of klusterlets.list()) enqueue(metadata.name);
        });
      };
      const stops = [
        definitions.onChange((before, after) => {
          if ((after ?? before)?.metadata.name !== appliedManifestWorkCrd.metadata.name) return;
          if (after && !life) begin();
          if (after) return;
          life?.abort();
          life = undefined;
        }),
        here.onChange((before, after) => {
          const agent = (after ?? before)?.spec?.agentID ?? "";
          for (const { metadata } of byAgent.at(agent)) enqueue(metadata.name);
        }),
      ];
      return () => {
        for (const stop of stops) stop();
        life?.abort();
      };
    },
  };

  return {
    name: "klusterlet-held-removals",
    triggers: [
      klusterlets.keyedBy(({ metadata }) => metadata.name, { when: predicates.generationChanged }),
      heldHere,
      managed.keyedBy(klusterletOf, { after: [there] }),
      {
        ...(onManaged.cache && { cache: onManaged.cache }),
        subscribe: (enqueue) =>
          onManaged.subscribe((key, options) => enqueue(klusterletOf(splitClusterKey(key).cluster), options)),
      },
    ],
    reads: [definitions],

    async reconcile(name) {
      const klusterlet = klusterlets.get(name);
      if (!klusterlet || isDeleting(klusterlet)) return done;
      const copy = isHosted(klusterlet) ? there.on(managedClusterName(name)) : here;
      if (!copy?.synced) return done; // whoever cannot look has nothing to say
      const held = copy.list().filter(({ spec }) => spec?.agentID === klusterlet.metadata.uid);
      const said = findCondition(klusterlet.status?.conditions, KlusterletCondition.WorkRemovalHeld);
      if (held.length === 0 && !said) return done;
      const conditions = setCondition(klusterlet.status?.conditions, heldClaim(held), clock.now());
      await cluster.commit(Klusterlet, klusterlet, { ...klusterlet, status: { ...klusterlet.status, conditions } });
      return done;
    },
  };
}

/** So many works are named. */
const NAMED = 5;

export function heldClaim(held: readonly AppliedManifestWork[]): ConditionClaim {
  const type = KlusterletCondition.WorkRemovalHeld;
  if (held.length === 0) {
    return {
      type,
      status: "False",
      reason: KlusterletReason.noRemovalHeld,
      message: "No removal waits to be confirmed",
    };
  }
  const works = held.map(({ spec, metadata }) => spec?.manifestWorkName ?? metadata.name).sort();
  const more = works.length > NAMED ? ` and ${works.length - NAMED} more` : "";
  const list = `${works.length === 1 ? "ManifestWork" : "ManifestWorks"} ${works.slice(0, NAMED).join(", ")}${more}`;
  const [only, ...others] = held.map(({ metadata }) => metadata.name).sort();
  const which = others.length === 0 ? only : `-l ${AppliedLabel.held}`;
  return {
    type,
    status: "True",
    reason: KlusterletReason.removalHeld,
    message:
      `Of what ${list} brought, something is not removed, because it is in doubt whether it should be; ` +
      `annotation ${AppliedAnnotation.held} says why. If it is to go: ` +
      `kubectl annotate appliedmanifestworks ${which} ${AppliedAnnotation.removal}=${REMOVAL_CONFIRMED}`,
  };
}
