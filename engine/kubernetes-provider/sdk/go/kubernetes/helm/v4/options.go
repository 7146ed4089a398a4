// Package v4 has what the provider's Helm component takes from it.
package v4

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// RepositoryOpts is where a chart is.
type RepositoryOpts struct {
	CaFile, CertFile, KeyFile pulumi.AssetOrArchive
	Password, Repo, Username  *string
}

// RepositoryOptsInput is that as an input.
type RepositoryOptsInput interface{ pulumi.Input }

// PostRenderer is a program that changes what a chart renders.
type PostRenderer struct {
	Args    []string
	Command string
}

// PostRendererInput is that as an input.
type PostRendererInput interface{ pulumi.Input }
