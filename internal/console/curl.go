package console

import (
	"maps"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/mask"
)

// maxCurlBody is the longest body that is written into a command.
const maxCurlBody = 16 << 10

// curl is a task's request as a command for a shell, to the address to. What is masked on the page is
// masked here, for shown is the body as the page has it; signatures are made anew for each attempt and are not in it. Empty: it
// is no request over HTTP, but a message to a broker, or goes to its queue's own address.
func curl(t *bellman.Task, to, method string, shown shownBody) string {
	if scheme, _, _ := strings.Cut(strings.ToLower(to), "://"); scheme != "http" && scheme != "https" {
		return ""
	}
	parts := []string{"curl -i -X " + quote(method) + " " + quote(maskURL(to))}
	header := client.MaskHeaders(t.Header)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		parts = append(parts, "-H "+quote(name+": "+header[name]))
	}
	if len(t.Body) > 0 {
		text := string(t.Body)
		if shown.Masked {
			text = shown.Text
			if shown.Kind == "form" {
				text = mask.Form(string(t.Body))
			}
		}
		if shown.Cut || shown.Kind == "binary" || len(text) > maxCurlBody || plain(text) != text {
			parts = append(parts, "--data-binary @body") // the API has the body as it is
		} else {
			parts = append(parts, "--data-binary "+quote(text))
		}
	}
	return strings.Join(parts, " \\\n  ")
}

// quote makes s one word of a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// contentType is what a task says that its body is.
func contentType(t *bellman.Task) string {
	for name, value := range t.Header {
		if strings.EqualFold(name, "Content-Type") {
			return value
		}
	}
	return ""
}
