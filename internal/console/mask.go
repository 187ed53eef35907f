package console

import "github.com/bellmanhq/bellman/internal/mask"

// maskURL returns an address for display, without credentials.
func maskURL(address string) string { return plain(mask.URL(address)) }
