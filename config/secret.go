package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a byte string that is printed, logged and marshaled as ***.
type Secret []byte

func (Secret) String() string { return "***" }

// Format ignores the verb: %d would print the bytes otherwise.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

func (Secret) LogValue() slog.Value         { return slog.StringValue("***") }
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }
