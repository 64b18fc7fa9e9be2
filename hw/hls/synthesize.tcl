# C simulation and synthesis; scripts/hls/hls.py runs it in an empty folder, and looks at the report.
set sources [file dirname [file normalize [info script]]]

open_project -reset jf_correct
set_top jf_correct
add_files $sources/jf_correct.cpp -cflags "-I$sources"
add_files -tb $sources/jf_correct_tb.cpp -cflags "-I$sources"
open_solution -reset -flow_target vivado solution
set_part $::env(FRAMELANE_HLS_PART)
create_clock -period $::env(FRAMELANE_HLS_PERIOD_NS) -name default
csim_design -clean -O -argv $::env(FRAMELANE_HLS_VECTORS)
csynth_design
exit
