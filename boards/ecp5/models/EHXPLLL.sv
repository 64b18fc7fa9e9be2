// Model of the ECP5's PLL (Lattice FPGA-TN-02200) where CLKOP is fed back: CLKOP and CLKOS2 with their periods, not their phases. It
// measures the period of its input, and is locked from then on. With WITHOUT_TIMES, for a simulation of clock edges alone, its input
// has CLKOP's rate already.
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off ZERODLY */
module EHXPLLL #(
    parameter              PLLRST_ENA      = "DISABLED",
    parameter              INTFB_WAKE      = "DISABLED",
    parameter              STDBY_ENABLE    = "DISABLED",
    parameter              DPHASE_SOURCE   = "DISABLED",
    parameter              OUTDIVIDER_MUXA = "DIVA",
    parameter              OUTDIVIDER_MUXB = "DIVB",
    parameter              OUTDIVIDER_MUXC = "DIVC",
    parameter              OUTDIVIDER_MUXD = "DIVD",
    parameter int unsigned CLKI_DIV        = 1,
    parameter int unsigned CLKFB_DIV       = 1,
    parameter              FEEDBK_PATH     = "CLKOP",
    parameter              CLKOP_ENABLE    = "ENABLED",
    parameter int unsigned CLKOP_DIV       = 8,
    parameter int unsigned CLKOP_CPHASE    = 0,
    parameter int unsigned CLKOP_FPHASE    = 0,
    parameter              CLKOS2_ENABLE   = "DISABLED",
    parameter int unsigned CLKOS2_DIV      = 8,
    parameter int unsigned CLKOS2_CPHASE   = 0,
    parameter int unsigned CLKOS2_FPHASE   = 0
) (
    input  logic RST,
    input  logic STDBY,
    input  logic CLKI,
    input  logic CLKFB,
    output logic CLKOP,
    output logic CLKOS,
    output logic CLKOS2,
    output logic CLKOS3,
    output logic CLKINTFB,
    output logic REFCLK,
    output logic INTLOCK,
    output logic LOCK,
    input  logic PHASESEL0,
    input  logic PHASESEL1,
    input  logic PHASEDIR,
    input  logic PHASESTEP,
    input  logic PHASELOADREG,
    input  logic PLLWAKESYNC,
    input  logic ENCLKOP,
    input  logic ENCLKOS,
    input  logic ENCLKOS2,
    input  logic ENCLKOS3
);

  if (FEEDBK_PATH != "CLKOP" || CLKOP_ENABLE != "ENABLED") begin : gen_check
    $error("%m: this is not in the model");
  end

`ifdef WITHOUT_TIMES
  if (CLKOS2_DIV != 2 * CLKOP_DIV) begin : gen_check_rate
    $error("%m: CLKOS2 must have half of CLKOP's rate");
  end

  logic half_q = 1'b0;
  logic [4:0] wait_q = '0;

  always_ff @(posedge CLKI) begin
    half_q <= !half_q;
    if (wait_q != '1) wait_q <= wait_q + 1'b1;
  end

  assign LOCK   = wait_q == '1;
  assign CLKOP  = CLKI;
  assign CLKOS2 = half_q;
`else
  realtime half;  // of CLKOP's period

  initial begin
    realtime start;
    LOCK  = 1'b0;
    CLKOP = 1'b0;
    @(posedge CLKI) start = $realtime;
    @(posedge CLKI) half = ($realtime - start) * CLKI_DIV / CLKFB_DIV / 2;
    LOCK = 1'b1;
    forever #(half) CLKOP = !CLKOP;
  end

  initial begin
    CLKOS2 = 1'b0;
    wait (LOCK);
    if (CLKOS2_ENABLE == "ENABLED") forever #(half * CLKOS2_DIV / CLKOP_DIV) CLKOS2 = !CLKOS2;
  end
`endif

  assign CLKOS = 1'b0;
  assign CLKOS3 = 1'b0;
  assign CLKINTFB = 1'b0;
  assign REFCLK = CLKI;
  assign INTLOCK = LOCK;

endmodule
