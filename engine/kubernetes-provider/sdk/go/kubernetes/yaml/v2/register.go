// Package v2 has what the provider's YAML components take from it.
package v2

import (
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RegisterResource would declare an object of a YAML file.
func RegisterResource(*pulumi.Context, string, string, string, pulumi.Input, ...pulumi.ResourceOption) (pulumi.CustomResource, error) {
	return nil, errors.ErrUnsupported
}
