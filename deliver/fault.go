package deliver

import (
	"context"
	"errors"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/cause"
)

// fault returns the verdict for a request without a complete answer. Its Error
// begins with the text during.
func fault(ctx context.Context, err error, to address, during string) bellman.Verdict {
	if r, is := errors.AsType[*refusal](err); is && !errors.Is(ctx.Err(), context.Canceled) {
		named := *r
		if named.host == "" && named.addr.String() != to.host {
			named.host = to.host
		}
		return bellman.Verdict{Result: bellman.Blocked, Error: cause.Line(during + named.Error())}
	}
	result, text := cause.Of(ctx, err)
	if q := to.url.RawQuery; q != "" {
		text = strings.ReplaceAll(text, q, "…")
	}
	return bellman.Verdict{Result: result, Error: cause.Line(during + text)}
}
