// What an FPGA does not make of LUTs, as cells of one level. With CELLS the cells, else maps for `techmap` from yosys'
// word-level cells: with MEMORIES of memories, else of adders and comparators of 8 bits and more, which are carry chains.
`ifdef CELLS

// A memory: what is read without a clock comes through one cell from its address, all else begins or ends a path.
module memory_read #(
    parameter ABITS = 1,
    parameter WIDTH = 1
) (
    input [ABITS-1:0] A,
    output [WIDTH-1:0] Q
);
endmodule

(* keep *)
module memory_registered #(
    parameter WIDTH = 1
) (
    output [WIDTH-1:0] Q
);
endmodule

(* keep *)
module memory_inputs #(
    parameter WIDTH = 1
) (
    input [WIDTH-1:0] D
);
endmodule

module carry_alu #(
    parameter WIDTH = 1
) (
    input [WIDTH-1:0] A,
    input [WIDTH-1:0] B,
    input CI,
    input BI,
    output [WIDTH-1:0] X,
    output [WIDTH-1:0] Y,
    output [WIDTH-1:0] CO
);
endmodule

module carry_lcu #(
    parameter WIDTH = 1
) (
    input [WIDTH-1:0] P,
    input [WIDTH-1:0] G,
    input CI,
    output [WIDTH-1:0] CO
);
endmodule

`elsif MEMORIES

(* techmap_celltype = "$mem_v2" *)
module _80_memory #(
    parameter MEMID = "",
    parameter SIZE = 2,
    parameter OFFSET = 0,
    parameter ABITS = 1,
    parameter WIDTH = 1,
    parameter INIT = 0,
    parameter RD_PORTS = 1,
    parameter RD_CLK_ENABLE = 0,
    parameter RD_CLK_POLARITY = 0,
    parameter RD_TRANSPARENCY_MASK = 0,
    parameter RD_COLLISION_X_MASK = 0,
    parameter RD_WIDE_CONTINUATION = 0,
    parameter RD_CE_OVER_SRST = 0,
    parameter RD_ARST_VALUE = 0,
    parameter RD_SRST_VALUE = 0,
    parameter RD_INIT_VALUE = 0,
    parameter WR_PORTS = 1,
    parameter WR_CLK_ENABLE = 0,
    parameter WR_CLK_POLARITY = 0,
    parameter WR_PRIORITY_MASK = 0,
    parameter WR_WIDE_CONTINUATION = 0
) (
    input [RD_PORTS-1:0] RD_CLK,
    input [RD_PORTS-1:0] RD_EN,
    input [RD_PORTS-1:0] RD_ARST,
    input [RD_PORTS-1:0] RD_SRST,
    input [RD_PORTS*ABITS-1:0] RD_ADDR,
    output [RD_PORTS*WIDTH-1:0] RD_DATA,
    input [WR_PORTS-1:0] WR_CLK,
    input [WR_PORTS*WIDTH-1:0] WR_EN,
    input [WR_PORTS*ABITS-1:0] WR_ADDR,
    input [WR_PORTS*WIDTH-1:0] WR_DATA
);
  genvar p;
  generate
    for (p = 0; p < RD_PORTS; p = p + 1) begin : read
      if ((RD_CLK_ENABLE >> p) & 1) begin
        memory_registered #(.WIDTH(WIDTH)) data (.Q(RD_DATA[p*WIDTH+:WIDTH]));
        memory_inputs #(.WIDTH(ABITS + 3)) control (
            .D({RD_EN[p], RD_ARST[p], RD_SRST[p], RD_ADDR[p*ABITS+:ABITS]})
        );
      end else begin
        memory_read #(.ABITS(ABITS), .WIDTH(WIDTH)) data (.A(RD_ADDR[p*ABITS+:ABITS]), .Q(RD_DATA[p*WIDTH+:WIDTH]));
      end
    end
    for (p = 0; p < WR_PORTS; p = p + 1) begin : write
      memory_inputs #(.WIDTH(ABITS + 2 * WIDTH)) data (
          .D({WR_EN[p*WIDTH+:WIDTH], WR_ADDR[p*ABITS+:ABITS], WR_DATA[p*WIDTH+:WIDTH]})
      );
    end
  endgenerate
endmodule

`else

(* techmap_celltype = "$alu" *)
module _80_carry_alu #(
    parameter A_SIGNED = 0,
    parameter B_SIGNED = 0,
    parameter A_WIDTH = 1,
    parameter B_WIDTH = 1,
    parameter Y_WIDTH = 1
) (
    (* force_downto *) input [A_WIDTH-1:0] A,
    (* force_downto *) input [B_WIDTH-1:0] B,
    input CI,
    input BI,
    (* force_downto *) output [Y_WIDTH-1:0] X,
    (* force_downto *) output [Y_WIDTH-1:0] Y,
    (* force_downto *) output [Y_WIDTH-1:0] CO
);
  wire _TECHMAP_FAIL_ = Y_WIDTH < 8;
  (* force_downto *) wire [Y_WIDTH-1:0] a, b;
  \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_a (.A(A), .Y(a));
  \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_b (.A(B), .Y(b));
  carry_alu #(.WIDTH(Y_WIDTH)) _TECHMAP_REPLACE_ (.A(a), .B(b), .CI, .BI, .X, .Y, .CO);
endmodule

(* techmap_celltype = "$lcu" *)
module _80_carry_lcu #(
    parameter WIDTH = 1
) (
    (* force_downto *) input [WIDTH-1:0] P,
    (* force_downto *) input [WIDTH-1:0] G,
    input CI,
    (* force_downto *) output [WIDTH-1:0] CO
);
  wire _TECHMAP_FAIL_ = WIDTH < 8;
  carry_lcu #(.WIDTH(WIDTH)) _TECHMAP_REPLACE_ (.P, .G, .CI, .CO);
endmodule

`endif
