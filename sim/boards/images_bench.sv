// What a board with an SDRAM is made of, between its registers and the read port of framelane_top: registers, frames, picture, images,
// chip. For test_images.
module images_bench
  import axi_pkg::*;
  import framelane_pkg::*;
  import sdram_pkg::*;
(
    input logic clk,
    input logic rst,

    // Registers: those of framelane_top answer DECERR, and what was asked of them is counted
    input  logic [15:0] s_axil_awaddr,
    input  logic  [2:0] s_axil_awprot,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic  [3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic  [1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [15:0] s_axil_araddr,
    input  logic  [2:0] s_axil_arprot,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic  [1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic [31:0] others_o,

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

    output logic [63:0] frame_address_o,
    output logic [63:0] frame_number_o,
    output logic        frame_valid_o,
    input  logic        frame_ready_i
);

  axil_request_t request, others;
  axil_response_t response, answer;
  frame_t frame;
  sdram_pins_t pins;
  logic sdram_clk, ras_n, cas_n, we_n;
  logic [0:0] ba;
  logic [ROW_W-1:0] a;
  wire [DATA_W-1:0] dq;
  logic [DATA_W-1:0] sdram_dq;
  logic unused;

  assign request = '{
          awaddr: s_axil_awaddr,
          awprot: s_axil_awprot,
          awvalid: s_axil_awvalid,
          wdata: s_axil_wdata,
          wstrb: s_axil_wstrb,
          wvalid: s_axil_wvalid,
          bready: s_axil_bready,
          araddr: s_axil_araddr,
          arprot: s_axil_arprot,
          arvalid: s_axil_arvalid,
          rready: s_axil_rready
      };
  assign {s_axil_awready, s_axil_wready, s_axil_bresp, s_axil_bvalid} = {
    response.awready, response.wready, response.bresp, response.bvalid
  };
  assign {s_axil_arready, s_axil_rdata, s_axil_rresp, s_axil_rvalid} = {
    response.arready, response.rdata, response.rresp, response.rvalid
  };

  logic address_q, data_q, reads_q;

  assign answer = '{
          awready: !address_q,  // before anybody asks
          wready: !data_q,
          bresp: 2'b11,
          bvalid: address_q && data_q,
          arready: !reads_q,
          rdata: 32'h0bad0bad,
          rresp: 2'b11,
          rvalid: reads_q
      };

  always_ff @(posedge clk) begin
    address_q <= answer.bvalid && others.bready ? 1'b0 : address_q || others.awvalid;
    data_q <= answer.bvalid && others.bready ? 1'b0 : data_q || others.wvalid;
    reads_q <= reads_q ? !others.rready : others.arvalid;
    if ((answer.bvalid && others.bready) || (answer.rvalid && others.rready)) others_o <= others_o + 1'b1;
    if (rst) begin
      address_q <= 1'b0;
      data_q <= 1'b0;
      reads_q <= 1'b0;
      others_o <= '0;
    end
  end

  board_memory #(
      .ClockHz   (125_000),  // a frame each 125 cycles
      .Sdram     (1'b1),
      .SdramBankW(1)
  ) u_memory (
      .clk,
      .rst,
      .s_axil_i           (request),
      .s_axil_o           (response),
      .m_axil_o           (others),
      .m_axil_i           (answer),
      .m_axis_frame_tdata (frame),
      .m_axis_frame_tvalid(frame_valid_o),
      .m_axis_frame_tready(frame_ready_i),
      .s_axi_araddr,
      .s_axi_arlen,
      .s_axi_arvalid,
      .s_axi_arready,
      .s_axi_rdata,
      .s_axi_rlast,
      .s_axi_rvalid,
      .s_axi_rready,
      .sdram_o            (pins),
      .sdram_dq_i         (sdram_dq)
  );

  ecp5_sdram u_pins (
      .clk,
      .pins_i       (pins),
      .dq_o         (sdram_dq),
      .sdram_clk_o  (sdram_clk),
      .sdram_ras_n_o(ras_n),
      .sdram_cas_n_o(cas_n),
      .sdram_we_n_o (we_n),
      .sdram_ba_o   (ba),
      .sdram_a_o    (a),
      .sdram_dq_io  (dq)
  );

  sdram_chip u_chip (
      .clk_i (sdram_clk),
      .ras_ni(ras_n),
      .cas_ni(cas_n),
      .we_ni (we_n),
      .ba_i  (ba),
      .a_i   (a),
      .dq_io (dq)
  );

  assign frame_address_o = frame.address;
  assign frame_number_o = frame.number;
  assign s_axi_rid = 1'b0;
  assign s_axi_rresp = '0;
  assign unused = ^{s_axi_arid, s_axi_arsize, s_axi_arburst, frame, others};

endmodule
