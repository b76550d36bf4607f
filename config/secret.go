package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is bytes that are never shown: every way of printing, logging or marshalling one gives
// ***.
type Secret []byte

func (Secret) String() string { return "***" }

func (Secret) Format(
	f fmt.State,
	_ rune,
) {
	_, _ = io.WriteString(f, "***")
}                                           // whatever the verb: %d would print bytes
func (Secret) LogValue() slog.Value         { return slog.StringValue("***") }
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }
