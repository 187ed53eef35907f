package deliver

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/cause"
)

// telling are the fields of an answer's header that explain most refusals. They are kept first.
var telling = []string{"Content-Type", "Content-Length", "Location", "Retry-After", "Www-Authenticate", "Server", "Via", "Date"}

// secrets are parts of the names, in lower case, of fields whose values are never kept.
var secrets = []string{"cookie", "token", "secret", "passw", "key", "session", "credential", "auth"}

// headerText returns the header of an answer in the form of [bellman.Attempt]. A field that does
// not fit is left out.
func headerText(header http.Header) string {
	rank := func(name string) uint { return uint(slices.Index(telling, name)) } // the others last
	names := slices.SortedFunc(maps.Keys(header), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	var text strings.Builder
	for _, name := range names {
		value := strings.Join(header[name], ", ")
		if name == "Location" {
			value = withoutQuery(value)
		}
		line := cause.Line(name + ": " + value)
		if value != "" && !isSecret(name) && text.Len()+len(line)+1 <= bellman.MaxResponseHeader {
			text.WriteString(line)
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// isSecret reports whether a field of an answer's header may hold credentials. A challenge holds
// none.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	return name != "www-authenticate" && name != "proxy-authenticate" &&
		slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(name, part) })
}

// withoutQuery returns an address without the parts that may hold credentials; empty if it cannot
// be read.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
