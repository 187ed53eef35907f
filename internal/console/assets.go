package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// assetsPath is where the assets are, with a hash of them all, so that browsers
// may keep them for ever and yet have the new ones after an upgrade.
var assetsPath = "/assets/" + hashOf(assets) + "/"

func hashOf(files fs.FS) string {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		h.Write([]byte(name))
		h.Write(data)
		return err
	})
	if err != nil {
		panic(err) // they are in the program
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// asset is the address of an asset.
func asset(name string) string { return assetsPath + name }

// contentTypes are those of the assets; the machine's own table is not asked.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	name, ours := strings.CutPrefix(r.URL.Path, assetsPath)
	kind := contentTypes[path.Ext(name)]
	data, err := assets.ReadFile("assets/" + name)
	if !ours || kind == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Vary", "Accept-Encoding")
	w.Write(data) // whoever is gone needs no answer
}
