// Package compat holds what the GitHub App asks GitHub for, as data: app.yml, which `compat setup`
// makes an App from.
package compat

import (
	"bytes"
	_ "embed"
)

//go:embed app.yml
var app []byte

// Manifest is app.yml. Behind each permission and event stands a comment that says what it is for.
func Manifest() []byte { return bytes.Clone(app) }
