//go:build !race

package console_test

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"slices"
	"testing"
)

const (
	side    = 8  // of a block, in pixels of a picture
	unlike  = 12 // a channel's mean difference in a block from which on the block differs, of 255
	most    = 2  // differing blocks that are no difference yet
	colours = 32 // of a reference picture
)

// differing are the blocks in which two pictures differ. Edges of letters may differ a little:
// another version of a browser draws them slightly otherwise.
func differing(got, want image.Image) (blocks []image.Rectangle) {
	a, b := opaque(got), opaque(want)
	whole := a.Bounds().Union(b.Bounds())
	both := a.Bounds().Intersect(b.Bounds())
	for y := 0; y < whole.Max.Y; y += side {
		for x := 0; x < whole.Max.X; x += side {
			block := image.Rect(x, y, x+side, y+side).Intersect(whole)
			if !block.In(both) || far(a, b, block) {
				blocks = append(blocks, block)
			}
		}
	}
	return blocks
}

// far reports whether the pictures differ in a block.
func far(a, b *image.RGBA, block image.Rectangle) bool {
	var sum [3]int
	for y := block.Min.Y; y < block.Max.Y; y++ {
		for x := block.Min.X; x < block.Max.X; x++ {
			i := a.PixOffset(x, y)
			j := b.PixOffset(x, y)
			for c := range sum {
				d := int(a.Pix[i+c]) - int(b.Pix[j+c])
				sum[c] += max(d, -d)
			}
		}
	}
	return slices.Max(sum[:]) > unlike*block.Dx()*block.Dy()
}

func opaque(p image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, p.Bounds().Dx(), p.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), p, p.Bounds().Min, draw.Src)
	return out
}

// marked is a picture with a red frame around blocks.
func marked(p image.Image, blocks []image.Rectangle) image.Image {
	out := opaque(p)
	for _, b := range blocks {
		for i := range side {
			for _, at := range []image.Point{{b.Min.X + i, b.Min.Y}, {b.Min.X, b.Min.Y + i}} {
				out.Set(at.X, at.Y, color.RGBA{R: 255, A: 255})
			}
		}
	}
	return out
}

// fewColours is a picture in the colours that most of it has.
func fewColours(p image.Image) *image.Paletted {
	from := opaque(p)
	count := map[color.RGBA]int{}
	for i := 0; i < len(from.Pix); i += 4 {
		count[color.RGBA{from.Pix[i], from.Pix[i+1], from.Pix[i+2], 255}]++
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range all {
		apart, near := true, 12
		if count[c] > 400 { // a ground, or a line
			near = 2
		}
		for _, k := range palette {
			k := k.(color.RGBA)
			apart = apart && distance(c, k) > near
		}
		if apart && len(palette) < colours {
			palette = append(palette, c)
		}
	}
	return inColours(from, palette)
}

// inColours is a picture in the nearest of some colours.
func inColours(p image.Image, palette color.Palette) *image.Paletted {
	from := opaque(p)
	out := image.NewPaletted(from.Bounds(), palette)
	nearest := map[color.RGBA]uint8{}
	var last color.RGBA // most neighbours have the same colour
	var index uint8
	for i := 0; i < len(from.Pix); i += 4 {
		if c := (color.RGBA{from.Pix[i], from.Pix[i+1], from.Pix[i+2], 255}); c != last {
			var known bool
			if index, known = nearest[c]; !known {
				index = uint8(palette.Index(c))
				nearest[c] = index
			}
			last = c
		}
		out.Pix[i/4] = index
	}
	return out
}

// distance is the largest difference of a channel.
func distance(a, b color.RGBA) int {
	far := 0
	for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
		far = max(far, d, -d)
	}
	return far
}

// A moved, missing or recoloured part is seen; few colours and soft edges are not.
func TestPicturesDiffer(t *testing.T) {
	draws := func(shift int, chip color.RGBA, soft uint8) image.Image {
		p := image.NewRGBA(image.Rect(0, 0, 320, 200))
		draw.Draw(p, p.Bounds(), image.NewUniform(color.RGBA{246, 247, 249, 255}), image.Point{}, draw.Src)
		for i := range 12 { // a word
			draw.Draw(p, image.Rect(20+5*i, 40+shift, 22+5*i, 48+shift), image.NewUniform(color.RGBA{21 + soft, 26 + soft, 34 + soft, 255}), image.Point{}, draw.Src)
		}
		draw.Draw(p, image.Rect(120, 40, 160, 50), image.NewUniform(chip), image.Point{}, draw.Src)
		return p
	}
	green, red := color.RGBA{227, 244, 234, 255}, color.RGBA{253, 236, 234, 255}
	before := draws(0, green, 0)
	for _, tt := range []struct {
		name string
		now  image.Image
		want bool
	}{
		{"the same", before, false}, {"in few colours", fewColours(before), false}, {"with softer letters", draws(0, green, 20), false},
		{"moved by two pixels", draws(2, green, 0), true}, {"another colour", draws(0, red, 0), true}, {"longer", opaqueTall(before), true},
	} {
		if got := len(differing(tt.now, before)) > most; got != tt.want {
			t.Errorf("%s: differs is %v; want %v", tt.name, got, tt.want)
		}
	}
}

// opaqueTall is a picture with more space at its foot.
func opaqueTall(p image.Image) image.Image {
	out := image.NewRGBA(image.Rect(0, 0, p.Bounds().Dx(), p.Bounds().Dy()+8))
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, p.Bounds(), p, image.Point{}, draw.Src)
	return out
}
