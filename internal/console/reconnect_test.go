//go:build !race

package console_test

import (
	"testing"

	"github.com/chromedp/cdproto/page"
)

// A browser gives up a stream that is answered with an error, such as 502 by a proxy while a node
// restarts. The page opens it again.
func TestLivePartsComeBack(t *testing.T) {
	b := open(t).tab(t)
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		const Real = EventSource;
		window.streams = [];
		window.EventSource = class extends Real {
			constructor(address) {
				super(streams.length ? address : '/nothing');
				this.asked = new URL(address, location.href).href;
				streams.push(this);
			}
			get url() { return this.asked; }
		};`})
	b.open("/queues")
	b.ready()
	b.until(`streams.length === 2 && streams[0].readyState === Real.CLOSED && streams[1].readyState === Real.OPEN`)
}
