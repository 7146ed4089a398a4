module azure-gpu/engine/language-nodejs

go 1.26.0

require github.com/pulumi/pulumi/sdk/v3 v3.68.0
