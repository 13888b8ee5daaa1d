package ui

// MinWidth and MinHeight are the smallest terminal, in cells, that the
// workbench can be used in.
const (
	MinWidth  = minWidth
	MinHeight = minHeight
)
