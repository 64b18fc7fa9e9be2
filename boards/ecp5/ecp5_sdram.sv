// Pins of an SDR SDRAM by cells of an ECP5. Commands, addresses and data leave by registers at the pins with the core's rising edge, the
// chip's clock rises half a cycle later; what it sends is taken with the core's falling edge, which is the chip's next rising one, and
// is given out with the rising edge behind it. Why: boards/colorlight_5a_75b/sdram.md.
module ecp5_sdram
  import sdram_pkg::*;
#(
    parameter int unsigned BankW = 1
) (
    input logic clk,

    input  sdram_pins_t              pins_i,
    output logic        [DATA_W-1:0] dq_o,

    // Pins
    output logic              sdram_clk_o,
    output logic              sdram_ras_n_o,
    output logic              sdram_cas_n_o,
    output logic              sdram_we_n_o,
    output logic [ BankW-1:0] sdram_ba_o,
    output logic [ ROW_W-1:0] sdram_a_o,
    inout  wire  [DATA_W-1:0] sdram_dq_io
);

  localparam int unsigned OUTPUTS = 3 + BankW + ROW_W;

  logic [OUTPUTS-1:0] outputs, pins;
  logic [DATA_W-1:0] unused_rise;
  logic unused;

  ODDRX1F u_clock (
      .SCLK(clk),
      .RST (1'b0),
      .D0  (1'b0),
      .D1  (1'b1),
      .Q   (sdram_clk_o)
  );

  assign outputs = {pins_i.command, pins_i.bank[BankW-1:0], pins_i.address};
  assign {sdram_ras_n_o, sdram_cas_n_o, sdram_we_n_o, sdram_ba_o, sdram_a_o} = pins;

  for (genvar k = 0; k < OUTPUTS; k++) begin : gen_output
    ODDRX1F u_register (
        .SCLK(clk),
        .RST (1'b0),
        .D0  (outputs[k]),
        .D1  (outputs[k]),
        .Q   (pins[k])
    );
  end

  for (genvar k = 0; k < DATA_W; k++) begin : gen_data
    logic to_pin, from_pin;

    ODDRX1F u_register (
        .SCLK(clk),
        .RST (1'b0),
        .D0  (pins_i.data[k]),
        .D1  (pins_i.data[k]),
        .Q   (to_pin)
    );

    BB u_pin (
        .I(to_pin),
        .T(!pins_i.drive),
        .O(from_pin),
        .B(sdram_dq_io[k])
    );

    IDDRX1F u_taken (
        .SCLK(clk),
        .RST (1'b0),
        .D   (from_pin),
        .Q0  (unused_rise[k]),
        .Q1  (dq_o[k])
    );
  end

  assign unused = ^{pins_i.bank, unused_rise};

endmodule
