/** How an HTTP proxy is asked for a connection to a server. */
import type { Socket } from "node:net";

/** The head of an answer is small; more than this is something else. */
const LONGEST_HEAD = 16 * 1024;

/** What the proxy is told beside where to connect to; a name and a password in its URL are for it alone. */
export function proxyHeaders(proxyUrl: string): Record<string, string> {
  const { username, password } = new URL(proxyUrl);
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair, "utf8").toString("base64")}` };
}

/** Resolves when the socket leads to the server; throws what the proxy says against it, as a status. */
export function askForTunnel(
  socket: Socket,
  { host, port }: { host: string; port: number },
  headers: Record<string, string>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const end = (error?: Error) => {
      socket.off("data", onData);
      socket.off("close", onClose);
      socket.pause(); // whatever comes next is for the server's protocol
      if (error) reject(error);
      else resolve();
    };
    const onClose = () => end(new Error("the proxy closed the connection"));
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const length = head.indexOf("\r\n\r\n");
      if (length < 0) {
        if (head.length > LONGEST_HEAD) end(new Error("the proxy does not answer as one; is it an HTTP proxy?"));
        return;
      }
      end(refusalOf(head.subarray(0, length).toString("latin1")));
      const early = head.subarray(length + 4);
      if (early.length > 0) socket.unshift(early);
    };
    socket.on("data", onData);
    socket.once("close", onClose);
    const target = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
    const lines = Object.entries({ host: target, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`CONNECT ${target} HTTP/1.1\r\n${lines.join("")}\r\n`);
  });
}

function refusalOf(head: string): Error | undefined {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  if (status === undefined) return new Error("the proxy does not answer as one; is it an HTTP proxy?");
  return status === "200" ? undefined : new Error(`the proxy refused the connection with status ${status}`);
}
