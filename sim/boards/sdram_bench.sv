// sdram_port with the cells at its pins and the chip behind them, for test_sdram_port.
module sdram_bench
  import sdram_pkg::*;
#(
    parameter int unsigned BankW = 1,

    localparam int unsigned WordW = BankW + ROW_W + COLUMN_W
) (
    input logic clk,
    input logic rst,

    input  logic        s_axi_arid,     // 0
    input  logic [31:0] s_axi_araddr,
    input  logic  [7:0] s_axi_arlen,
    input  logic  [2:0] s_axi_arsize,
    input  logic  [1:0] s_axi_arburst,
    input  logic        s_axi_arvalid,
    output logic        s_axi_arready,
    output logic        s_axi_rid,
    output logic [63:0] s_axi_rdata,
    output logic  [1:0] s_axi_rresp,
    output logic        s_axi_rlast,
    output logic        s_axi_rvalid,
    input  logic        s_axi_rready,

    input  logic [ WordW-1:0] word_address_i,
    input  logic              word_write_i,
    input  logic [DATA_W-1:0] word_data_i,
    input  logic              word_valid_i,
    output logic              word_ready_o,
    output logic              word_read_o,
    output logic [DATA_W-1:0] word_data_o,
    output logic              ready_for_use_o,

    input logic [1:0] delay_i,
    input logic [7:0] late_ns_i  // of the chip, both ways together
);

  sdram_pins_t pins;
  logic sdram_clk, ras_n, cas_n, we_n;
  logic [BankW-1:0] ba;
  logic [ROW_W-1:0] a;
  wire [DATA_W-1:0] dq;

  assign s_axi_rid   = 1'b0;
  assign s_axi_rresp = '0;

  sdram_port #(
      .BankW(BankW)
  ) u_port (
      .clk,
      .rst,
      .s_axi_araddr,
      .s_axi_arlen,
      .s_axi_arvalid,
      .s_axi_arready,
      .s_axi_rdata,
      .s_axi_rlast,
      .s_axi_rvalid,
      .s_axi_rready,
      .word_address_i,
      .word_write_i,
      .word_data_i,
      .word_valid_i,
      .word_ready_o,
      .word_read_o,
      .ready_for_use_o,
      .delay_i,
      .pins_o(pins),
      .dq_i  (word_data_o)
  );

  ecp5_sdram #(
      .BankW(BankW)
  ) u_pins (
      .clk,
      .pins_i       (pins),
      .dq_o         (word_data_o),
      .sdram_clk_o  (sdram_clk),
      .sdram_ras_n_o(ras_n),
      .sdram_cas_n_o(cas_n),
      .sdram_we_n_o (we_n),
      .sdram_ba_o   (ba),
      .sdram_a_o    (a),
      .sdram_dq_io  (dq)
  );

  sdram_chip #(
      .BankW(BankW)
  ) u_chip (
      .clk_i (sdram_clk),
      .ras_ni(ras_n),
      .cas_ni(cas_n),
      .we_ni (we_n),
      .ba_i  (ba),
      .a_i   (a),
      .dq_io (dq)
  );

  always @(late_ns_i) u_chip.late = realtime'(late_ns_i);

  logic unused;
  assign unused = ^{s_axi_arid, s_axi_arsize, s_axi_arburst};

endmodule
