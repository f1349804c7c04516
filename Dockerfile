# Capstan's own image: hub, agents, operators and plugins are words of one program.
#   docker build -t capstan:0.1.0 .
FROM node:22-alpine AS build
WORKDIR /src
COPY package.json package-lock.json tsconfig.json tsconfig.build.json ./
COPY tools/build.mjs tools/
COPY src src
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:22-alpine
LABEL org.opencontainers.image.title="Capstan" org.opencontainers.image.licenses="Apache-2.0"
# Nothing but Node and what Capstan needs at run time: no package manager to misuse.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-* /usr/local/bin/yarn*
ENV NODE_ENV=production
WORKDIR /opt/capstan
COPY package.json LICENSE NOTICE ./
COPY --from=build /src/node_modules node_modules
COPY --from=build /src/dist dist
# Writes nothing outside of what is mounted: run it with a read-only root file system.
USER 65532:65532
ENTRYPOINT ["node", "/opt/capstan/dist/cli/main.js"]
CMD ["--help"]
