package console

import "github.com/bellmanhq/bellman/internal/mask"

// maskURL is an address as people may see it: without what lets somebody in.
func maskURL(address string) string { return plain(mask.URL(address)) }
