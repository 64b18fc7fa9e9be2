# Packs what synthesize.tcl made as IP for Vivado's catalogue.
open_project jf_correct
open_solution solution
export_design -format ip_catalog -rtl verilog -ipname jf_correct -display_name "JUNGFRAU correction" \
    -output $::env(FRAMELANE_HLS_IP)
exit
