"""The worked examples of the lecture notes, done by fyke's own rooms, each number beside the one of the notes."""
