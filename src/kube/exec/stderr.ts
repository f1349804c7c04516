/**
 * What a plugin wrote on stderr, as far as it can be repeated.
 *
 * It may be anything, a password too, and nobody can tell a password by its looks. So only words are repeated
 * that cannot be one: those of a fixed vocabulary of complaints, and those that we told the plugin ourselves.
 */

/** Of one line so much at most. */
const LONGEST = 300;

/** In place of words that are not repeated. */
const HIDDEN = "…";

/** The words of programs that complain, and the reasons and resources of Kubernetes. */
const VOCABULARY = new Set(
  `a able access account allowed already an and any api apiversion are argument arguments as at auth authenticate
  authentication authorization authorized available aws azure bad be because been before body bound but by called
  cannot cert certificate certificates check client client-certificate client-certificate-data client-key
  client-key-data cloud cluster clustername clusters code command config configs configuration configured connect
  connecting connection context could create created credential credentials current data deadline decode decoding
  default denied dial did directory dns do does environment eof error errors exceeded exec execcredential execute
  executing exist exists exit expected expired extension extensions failed failure fatal field file files find flag
  flags for forbidden format found from gcloud get getting give given got group has have help host http https i/o in
  in-cluster include includes incluster info initialize initializing input insecure install installed internal
  invalid io is isn't it json jwt key keys kind kubeconfig kubeconfig-secretreader kubernetes level line list load
  loading logged login lookup managed-serviceaccount mandatory map match may method missing module must name named
  namespace namespaces neither network no nor not null object of on only open option or out output panic parse
  parsing password path permission permissions please plugin plugins pod pods port profile provide provided provider
  proxy read reading reason refresh refused region registered request required reset resolve resource resources
  response result return returned role run running runtime secret secretname secretnamespace secretreader secrets
  see server service serviceaccount session set should sign signed socket spec spec.cluster.config
  spec.cluster.server specified specify ssl started status stdin stdout string such support supported system tcp
  temporary tenant the timed timeout timestamp tls to token token-secretreader tokens too traceback try trying type
  unable unauthorized undefined unexpected unknown unmarshal unreachable unset unsupported url usage use user
  username users using value values variable version via warning was were while with without wrong x509 yaml yet you
  your`.split(/\s+/),
);

/** The first line with what may be repeated of it; empty if that is not worth it. */
export function repeatable(stderr: string, told: string): string {
  const [line = ""] = stderr
    .split("\n")
    .map((text) => text.trim())
    .filter((text) => text !== "");
  const known = new Set(wordsOf(told.toLowerCase()));
  const words = line.slice(0, LONGEST).split(/(?<=\s)|(?=\s)/);
  const shown = words.map((word) => (word.trim() === "" || isHarmless(word, known) ? word : HIDDEN)).join("");
  const collapsed = shown.replace(/…(\s+…)+/g, HIDDEN);
  return /\p{L}/u.test(collapsed) ? collapsed : "";
}

function isHarmless(word: string, known: ReadonlySet<string>): boolean {
  const bare = word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
  const isKnown = (text: string) => VOCABULARY.has(text) || known.has(text) || SMALL_NUMBER.test(text);
  if (bare === "" || isKnown(bare)) return isPunctuation(word, bare);
  // `fleet/cluster1:` or `code=403` are words that punctuation holds together.
  const parts = wordsOf(bare);
  return parts.length > 1 && parts.every(isKnown);
}

/** Exit codes and HTTP statuses. */
const SMALL_NUMBER = /^\d{1,3}$/;

/** A word that is nothing but signs may be a password all the same; quotes and full stops are not. */
function isPunctuation(word: string, bare: string): boolean {
  return /^["'`()[\]{}<>.,:;!?/*-]{0,3}$/.test(word.toLowerCase().replace(bare, ""));
}

function wordsOf(text: string): string[] {
  return text.split(/[^\p{L}\p{N}.-]+/u).filter((word) => word !== "");
}
