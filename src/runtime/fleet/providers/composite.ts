/** Several providers as one; the clusters of each carry its name in front: `secrets#spoke-1`. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { changesFrom } from "../changes.ts";
import { either } from "../either.ts";
import { steadily } from "../steady.ts";
import type { FleetChange, FleetProvider } from "../types.ts";

const SEPARATOR = "#";

/** One that fails is followed anew by itself, and the clusters of the others do not notice. */
export function compositeProvider(
  providers: Readonly<Record<string, FleetProvider>>,
  options: { readonly clock: Clock; readonly log: Logger },
): FleetProvider {
  const parts = Object.entries(providers);
  const wrong = parts.find(([prefix]) => prefix === "" || prefix.includes(SEPARATOR));
  if (wrong) throw new Error(`"${wrong[0]}" cannot be the name of a provider: it must not be empty or hold a #`);
  return {
    name: parts.map(([prefix, { name }]) => `${prefix} (${name})`).join(", "),
    follow: (signal) =>
      changesFrom(signal, (tell, fail) => {
        let missing = parts.length;
        const stop = new AbortController();
        const life = either(signal, stop.signal);
        const one = async (prefix: string, provider: FleetProvider) => {
          let isListed = false;
          for await (const change of steadily(provider, life, options)) {
            if (change.type !== "listed") tell(prefixed(prefix, change));
            else if (!isListed) {
              isListed = true;
              if (--missing === 0) tell(change);
            }
          }
        };
        if (missing === 0) tell({ type: "listed" });
        for (const [prefix, provider] of parts) one(prefix, provider).catch(fail);
        return () => stop.abort();
      }),
  };
}

function prefixed(prefix: string, change: Exclude<FleetChange, { type: "listed" }>): FleetChange {
  if (change.type === "removed") return { type: "removed", name: `${prefix}${SEPARATOR}${change.name}` };
  const { offer } = change;
  const { explain } = offer;
  return {
    type: "offered",
    offer: {
      name: `${prefix}${SEPARATOR}${offer.name}`,
      fingerprint: offer.fingerprint,
      connect: (signal) => offer.connect(signal),
      ...(explain && { explain: (error: unknown) => explain(error) }),
    },
  };
}
