// The clocks of a board of 1 Gb/s from its oscillator: 125 MHz for the line, 62.5 MHz for the core, by a PLL of an ECP5. VCO at 625
// MHz. The settings are those that ecppll prints for 25 and for 100 MHz.
module ecp5_clocks #(
    parameter int unsigned OscillatorMHz = 25  // 25 or a multiple: it is divided down to 25 MHz
) (
    input logic oscillator_i,

    output logic line_clk_o,  // 125 MHz
    output logic core_clk_o,  // 62.5 MHz
    output logic locked_o     // of no clock
);

  logic unused_s, unused_s3, unused_internal, unused_reference, unused_lock, unused;

  if (OscillatorMHz == 0 || OscillatorMHz % 25 != 0) begin : gen_check
    $error("%m: OscillatorMHz = %0d must be a multiple of 25", OscillatorMHz);
  end

  (* FREQUENCY_PIN_CLKOP = "125", FREQUENCY_PIN_CLKOS2 = "62.5", ICP_CURRENT = "12",
     LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
  EHXPLLL #(
      .PLLRST_ENA      ("DISABLED"),
      .INTFB_WAKE      ("DISABLED"),
      .STDBY_ENABLE    ("DISABLED"),
      .DPHASE_SOURCE   ("DISABLED"),
      .OUTDIVIDER_MUXA ("DIVA"),
      .OUTDIVIDER_MUXB ("DIVB"),
      .OUTDIVIDER_MUXC ("DIVC"),
      .OUTDIVIDER_MUXD ("DIVD"),
      .CLKI_DIV        (OscillatorMHz / 25),
      .CLKFB_DIV       (5),
      .FEEDBK_PATH     ("CLKOP"),
      .CLKOP_ENABLE    ("ENABLED"),
      .CLKOP_DIV       (5),
      .CLKOP_CPHASE    (2),
      .CLKOP_FPHASE    (0),
      .CLKOS2_ENABLE   ("ENABLED"),
      .CLKOS2_DIV      (10),
      .CLKOS2_CPHASE   (2),
      .CLKOS2_FPHASE   (0)
  ) u_pll (
      .RST         (1'b0),
      .STDBY       (1'b0),
      .CLKI        (oscillator_i),
      .CLKFB       (line_clk_o),
      .CLKOP       (line_clk_o),
      .CLKOS       (unused_s),
      .CLKOS2      (core_clk_o),
      .CLKOS3      (unused_s3),
      .CLKINTFB    (unused_internal),
      .REFCLK      (unused_reference),
      .INTLOCK     (unused_lock),
      .LOCK        (locked_o),
      .PHASESEL0   (1'b0),
      .PHASESEL1   (1'b0),
      .PHASEDIR    (1'b1),
      .PHASESTEP   (1'b1),
      .PHASELOADREG(1'b1),
      .PLLWAKESYNC (1'b0),
      .ENCLKOP     (1'b0),
      .ENCLKOS     (1'b0),
      .ENCLKOS2    (1'b0),
      .ENCLKOS3    (1'b0)
  );

  assign unused = ^{unused_s, unused_s3, unused_internal, unused_reference, unused_lock};

endmodule
