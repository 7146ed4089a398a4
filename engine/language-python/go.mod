module azure-gpu/engine/language-python

go 1.26.0

require github.com/pulumi/pulumi/sdk/v3 v3.79.0
