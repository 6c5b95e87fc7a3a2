"""``make reproduce``: the tables of Dušek & Kasner (INLG 2020) with a bundle, templates and data of your own."""
