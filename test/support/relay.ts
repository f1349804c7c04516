/** A wire to a server that can be cut and mended, and can fall silent without breaking. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class Relay {
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  #isSilent = false;

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
    if (!this.#isSilent) near.pipe(far).pipe(near);
  }
}
