package config

import "log/slog"

// Secret is bytes that are never shown: every way of printing, logging or marshalling one gives ***.
type Secret []byte

func (Secret) String() string               { return "***" }
func (Secret) GoString() string             { return "***" }
func (Secret) LogValue() slog.Value         { return slog.StringValue("***") }
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }
