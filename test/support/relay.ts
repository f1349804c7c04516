/** A wire to a server that can be cut, reset, slowed down and mended, and can fall silent without breaking. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";

export class Relay {
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  #isSilent = false;
  #delay = 0;

  private constructor(target: number) {
    this.#target = target;
  }

  /** To a server on this machine, by its URL. */
  static async to(url: string): Promise<Relay> {
    const relay = new Relay(Number(new URL(url).port));
    await relay.mend();
    return relay;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  /** Nobody answers any more, and everybody is told. */
  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  /** All connections break at once, and others can be made at once. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Everything that is said from now on comes so many milliseconds later. */
  delay(ms: number): void {
    this.#delay = ms;
  }

  /** Connections stay, and nothing comes through. */
  fallSilent(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.resume();
    }
  }

  /** Everybody may come again, at the same place. */
  async mend(): Promise<void> {
    if (this.#isSilent) await this.cut();
    this.#isSilent = false;
    if (this.#server) return;
    const server = createServer((near) => this.#join(near));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Keeps the order of what passes. */
  #slow(): Transform {
    return new Transform({
      transform: (chunk, _, pass) => {
        if (this.#delay === 0) pass(null, chunk);
        else setTimeout(() => pass(null, chunk), this.#delay);
      },
    });
  }

  #join(near: Socket): void {
    const far = connect(this.#target, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        this.#sockets.delete(socket);
        if (!this.#isSilent) other.destroy();
      });
    }
    if (!this.#isSilent) near.pipe(this.#slow()).pipe(far).pipe(this.#slow()).pipe(near);
  }
}
