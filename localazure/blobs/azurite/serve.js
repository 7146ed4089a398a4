// Serves Azurite's blob service for the embedded Azure, which stands in front of it and has already decided who may do what.
//
// Called as: node serve.js FOLDER, where FOLDER holds Azurite's node_modules. The first line of standard input is a JSON object:
//   state   the folder that keeps the blobs
//   secret  what every request has to carry as "Authorization: Local <secret>"
//   url     where the embedded Azure answers for blobs, such as https://localhost:8443/blob
// The first line of standard output is {"port": N}, the port on 127.0.0.1. It ends, with everything saved, when standard input ends,
// so it never outlives the embedded Azure, however that ends.
"use strict";
const crypto = require("crypto");
const path = require("path");
const { createRequire } = require("module");

// Azurite keeps what it knows of the blobs in memory and writes all of it at once. That is done this soon after a change, and so that
// it never takes more than a twentieth of the time.
const SAVE_MILLISECONDS = 50;
const SAVE_SHARE = 20;

const fromAzurite = createRequire(path.join(process.argv[2], "package.json"));
const part = (name) => fromAzurite(`azurite/dist/src/${name}`);

function start(settings) {
  const digest = (text) => crypto.createHash("sha256").update(text).digest();
  const expected = digest(`Local ${settings.secret}`);

  // Accounts come and go in the embedded Azure; here any name is one.
  part("common/AccountDataStore").default.prototype.getAccount = (name) => ({ name, key1: expected });
  // One secret opens all of it. `false` refuses: no other authenticator knows a way in, since the server in front lets no SAS pass.
  part("blob/authentication/BlobSharedKeyAuthenticator").default.prototype.validate = async (request) =>
    crypto.timingSafeEqual(digest(request.getHeader("authorization") || ""), expected);
  part("blob/authentication/PublicAccessAuthenticator").default.prototype.validate = async () => undefined;
  // Lists name the endpoint that clients know.
  part("blob/generated/ExpressRequestAdapter").default.prototype.getEndpoint = () => settings.url;

  // An error that Azurite didn't expect is answered with 500. Where the system didn't cause it, what was sent did, and the server in
  // front is told.
  const errors = part("blob/generated/middleware/error.middleware");
  const Expected = part("blob/generated/errors/MiddlewareError").default;
  const answer = errors.default;
  errors.default = (context, error, request, response, next, logger) => {
    if (!(error instanceof Expected)) {
      console.error(error);
      if (!response.headersSent() && !error.syscall) response.setHeader("x-local-unexpected", "input");
    }
    return answer(context, error, request, response, next, logger);
  };

  const Configuration = part("blob/BlobConfiguration").default;
  const BlobServer = part("blob/BlobServer").default;
  part("common/Logger").configLogger(false);
  const inState = (name) => path.join(settings.state, name);
  const server = new BlobServer(
    new Configuration(
      "127.0.0.1",
      0,
      3600, // seconds that an idle connection is kept
      inState("blobs.json"),
      inState("extents.json"),
      [{ locationId: "Default", locationPath: inState("content"), maxConcurrency: 50 }],
      false, // no access log
      undefined,
      false, // no debug log
      undefined,
      false, // strict: what isn't imitated is refused
      true, // any version of the API
      "",
      "",
      "",
      undefined,
      true // accounts are named by the path alone
    )
  );
  server.httpServer.requestTimeout = 0; // an upload takes as long as its client does
  saveAfterChanges(server);
  return server;
}

let saving = Promise.resolve();

function saveAfterChanges(server) {
  let waiting = false;
  let pause = SAVE_MILLISECONDS;
  const save = (store) => new Promise((done) => store.db.saveDatabase(done));
  server.httpServer.on("request", (request, response) => {
    if (request.method === "GET" || request.method === "HEAD") return;
    response.on("close", () => {
      if (waiting) return;
      waiting = true;
      setTimeout(async () => {
        waiting = false;
        const began = performance.now();
        saving = save(server.extentMetadataStore).then(() => save(server.metadataStore));
        await saving;
        pause = Math.max(SAVE_MILLISECONDS, SAVE_SHARE * (performance.now() - began));
      }, pause);
    });
  });
}

let server;
let ending = false;

async function end(code) {
  if (ending) return;
  ending = true;
  try {
    await saving; // closing writes what has changed since a save began, and doesn't wait for that save
    if (server) await server.close();
  } finally {
    process.exit(code);
  }
}

let given = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", async (chunk) => {
  if (server) return;
  given += chunk;
  if (!given.includes("\n")) return;
  try {
    server = start(JSON.parse(given.split("\n")[0]));
    await server.start();
    process.stdout.write(JSON.stringify({ port: server.httpServer.address().port }) + "\n");
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
});
process.stdin.on("end", () => end(0));
process.once("SIGTERM", () => end(0));
process.once("SIGINT", () => end(0));
