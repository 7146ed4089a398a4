import * as pulumi from "@pulumi/pulumi";
import * as azuregpu from "@pulumi/azuregpu";

const config = new pulumi.Config();
const expiresAfter = config.require("lastDay");

const base = new azuregpu.Foundation("base", {
    location: "westeurope",
    team: config.require("team"),
    identity: "create",
    storage: "create",
    logWorkspace: "create",
    protectData: false,
});

const batch = new azuregpu.BatchAccount("batch", { foundation: base });
const train = new azuregpu.BatchPool("train", {
    batchAccount: batch,
    size: "Standard_NC4as_T4_v3",
    autoscale: { maxNodes: config.requireNumber("maxNodes"), spot: true },
    expiresAfter,
});

const shared = new azuregpu.GpuCluster("shared", {
    foundation: base,
    gpuPools: { t4: { size: "Standard_NC4as_T4_v3", maxNodes: 1 } },
    expiresAfter,
});

const workspace = new azuregpu.MlWorkspace("workspace", {
    foundation: base,
    models: { digits: { version: "1", path: "digits/1", type: "triton" } },
    environments: {
        server: {
            version: "1",
            image: "nvcr.io/nvidia/tritonserver:24.12-py3",
            routes: { port: 8000, scoring: "/" },
        },
    },
});
const digits = new azuregpu.MlEndpoint("digits", {
    workspace,
    deployments: {
        blue: { model: "digits", environment: "server", instanceType: "Standard_NC4as_T4_v3" },
    },
    expiresAfter,
});

export const pool = train.poolId;
export const cluster = shared.clusterName;
export const scoringUri = digits.scoringUri;
export const hourlyCost = digits.hourlyCost;
