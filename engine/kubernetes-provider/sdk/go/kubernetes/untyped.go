// Package kubernetes has what the provider's YAML components take from it. Nobody declares any here.
package kubernetes

import "reflect"

// UntypedArgs are an object's properties.
type UntypedArgs map[string]any

// ElementType makes them an input.
func (UntypedArgs) ElementType() reflect.Type { return reflect.TypeFor[map[string]any]() }
