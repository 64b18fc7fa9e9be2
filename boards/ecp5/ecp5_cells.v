// Cells of an ECP5, ports alone, as yosys and nextpnr know them (Lattice FPGA-TN-02035, FPGA-TN-02200).
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNDRIVEN */
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */

(* blackbox *)
module EHXPLLL #(
    parameter PLLRST_ENA = "DISABLED",
    parameter INTFB_WAKE = "DISABLED",
    parameter STDBY_ENABLE = "DISABLED",
    parameter DPHASE_SOURCE = "DISABLED",
    parameter OUTDIVIDER_MUXA = "DIVA",
    parameter OUTDIVIDER_MUXB = "DIVB",
    parameter OUTDIVIDER_MUXC = "DIVC",
    parameter OUTDIVIDER_MUXD = "DIVD",
    parameter CLKI_DIV = 1,
    parameter CLKFB_DIV = 1,
    parameter FEEDBK_PATH = "CLKOP",
    parameter CLKOP_ENABLE = "ENABLED",
    parameter CLKOP_DIV = 8,
    parameter CLKOP_CPHASE = 0,
    parameter CLKOP_FPHASE = 0,
    parameter CLKOS2_ENABLE = "DISABLED",
    parameter CLKOS2_DIV = 8,
    parameter CLKOS2_CPHASE = 0,
    parameter CLKOS2_FPHASE = 0
) (
    input wire RST,
    input wire STDBY,
    input wire CLKI,
    input wire CLKFB,
    output wire CLKOP,
    output wire CLKOS,
    output wire CLKOS2,
    output wire CLKOS3,
    output wire CLKINTFB,
    output wire REFCLK,
    output wire INTLOCK,
    output wire LOCK,
    input wire PHASESEL0,
    input wire PHASESEL1,
    input wire PHASEDIR,
    input wire PHASESTEP,
    input wire PHASELOADREG,
    input wire PLLWAKESYNC,
    input wire ENCLKOP,
    input wire ENCLKOS,
    input wire ENCLKOS2,
    input wire ENCLKOS3
);
endmodule

(* blackbox *)
module ODDRX1F (
    input wire SCLK,
    input wire RST,
    input wire D0,
    input wire D1,
    output wire Q
);
endmodule

(* blackbox *)
module IDDRX1F (
    input wire D,
    input wire SCLK,
    input wire RST,
    output wire Q0,
    output wire Q1
);
endmodule

(* blackbox *)
module DELAYG #(
    parameter DEL_MODE = "USER_DEFINED",
    parameter DEL_VALUE = 0
) (
    input wire A,
    output wire Z
);
endmodule

(* blackbox *)
module BB (
    input wire I,
    input wire T,
    output wire O,
    inout wire B
);
endmodule
